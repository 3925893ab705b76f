#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ordo {

/// Arrays and objects nested deeper than this are not taken as JSON: they are refused where JSON is asked
/// for, and payload bytes that hold them travel as base64.
inline constexpr std::size_t kMaxJsonDepth = 500;

/// `text` without insignificant white space and otherwise byte for byte; nothing unless it is one JSON value
/// (RFC 8259) in UTF-8, with paired surrogate escapes and at most kMaxJsonDepth levels.
std::optional<std::string> minify_json(std::string_view text);

/// The same, appended to `out`. False, and `out` as it was, when it is no JSON; then `error_at` is the first
/// bad byte.
bool append_minified(std::string& out, std::string_view text, std::size_t* error_at = nullptr);

/// How payload bytes travel: none as `""`, UTF-8 JSON as that JSON without white space, others as
/// {"$base64":"…"}. (JSON that itself has that form travels as base64 too, so that it is read back as the
/// same bytes.)
std::string payload_to_json(std::string_view bytes);
void append_payload(std::string& out, std::string_view bytes);

/// The bytes to store for a payload given as JSON. Throws Error{invalid_argument} for what is no JSON or no
/// base64.
std::string payload_from_json(std::string_view json_text);

/// An id, a key or a kind: a JSON string, or {"$base64":"…"} for bytes that are not UTF-8 (and for text that
/// looks so), so that no two are shown alike.
void append_name(std::string& out, std::string_view bytes);
std::string name_json(std::string_view bytes);
/// The same in a message: without the quotes of a string, on one line, and cut as by shortened().
std::string name_in_message(std::string_view bytes);
/// Such a name's bytes. Throws Error{invalid_argument} for JSON that is neither form.
std::string name_from_json(std::string_view json_text);

/// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
void append_json_string(std::string& out, std::string_view text);

/// The text of a valid JSON string given with its quotes.
std::string json_unquote(std::string_view quoted);

/// The shortest decimal that reads back as `value`; `null` when it is not finite.
std::string json_number(double value);
void append_json_number(std::string& out, double value);

}  // namespace ordo
