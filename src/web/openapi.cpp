// What routes say of themselves, as other programs read it: OpenAPI 3.1.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <ordo/version.hpp>

#include "base/assert.h"
#include "base/json.h"
#include "base/push_option.h"
#include "faces/object_text.h"
#include "web/api.h"
#include "web/api_shapes.h"

namespace ordo::web {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string reference_to(std::string_view shape) {
  return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", shape);
}

/// What stands for a name of a path in an example, unless the operation says another.
std::string_view example_of(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
      {"queue", "orders"}, {"id", "42"}, {"key", "42"}, {"name", "nightly"}, {"token", "none"}};
  const auto* found =
      std::ranges::find(kExamples, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kExamples) ? std::string_view("1") : found->second;
}

void add_path_parameters(std::vector<std::string>& all, const Operation& operation) {
  const auto special = words_of(operation.values);
  std::size_t place = 0;
  const auto path = operation.path;
  for (auto at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    const auto name = path.substr(at + 1, path.find('}', at) - at - 1);
    const auto example = place < special.size() ? special[place] : example_of(name);
    ++place;
    all.push_back(ObjectText()
                      .text("name", name)
                      .text("in", "path")
                      .flag("required", true)
                      .raw("schema", R"({"type":"string","minLength":1})")
                      .text("example", example)
                      .end());
  }
}

std::string parameters_of(const Operation& operation) {
  std::vector<std::string> all;
  add_path_parameters(all, operation);
  for (const auto token : words_of(operation.parameters)) {
    const auto found = std::ranges::find(parameters(), token, &Parameter::token);
    ORDO_ASSERT(found != parameters().end());
    ObjectText text;
    text.text("name", found->name).text("in", found->in).raw("schema", found->schema);
    if (!found->example.empty()) text.raw("example", found->example);
    all.push_back(text.end());
  }
  return array_of(all, [](std::string& out, const std::string& each) { out += each; });
}

std::string body_of(const Operation& operation, const Route& route) {
  ObjectText content;
  content.raw(
      "application/json",
      ObjectText().raw("schema", reference_to(operation.body)).raw("example", operation.example).end());
  if (route.upload)
    content.raw("application/x-ndjson",
                R"({"schema":{"type":"string","description":"a NewJob on each line"}})");
  return ObjectText().raw("content", content.end()).end();
}

std::string answers_of(const Operation& operation) {
  const auto schema = operation.answer.empty() ? R"({"type":"string"})" : reference_to(operation.answer);
  const auto content = ObjectText().raw(operation.type, ObjectText().raw("schema", schema).end()).end();
  const auto problem =
      ObjectText()
          .raw("application/problem+json", ObjectText().raw("schema", reference_to("Problem")).end())
          .end();
  return ObjectText()
      .raw(fmt::to_string(operation.status),
           ObjectText().text("description", "It is so").raw("content", content).end())
      .raw("default", ObjectText().text("description", "It could not be done").raw("content", problem).end())
      .end();
}

/// Null: it is a page for people.
const Operation* operation_of(const Route& route) {
  const auto found = std::ranges::find_if(operations(), [&](const Operation& operation) {
    return operation.method == route.method && operation.path == route.path;
  });
  return found == operations().end() ? nullptr : &*found;
}

std::string operation_text(const Route& route, const Operation& operation) {
  ObjectText text;
  text.text("summary", route.what);
  text.raw("parameters", parameters_of(operation));
  if (!operation.body.empty()) text.raw("requestBody", body_of(operation, route));
  return text.raw("responses", answers_of(operation)).end();
}

/// The JSON Schema of an option's value.
std::string schema_of(const PushOption& option) {
  if (is_of<bool>(option)) return R"({"type":"boolean"})";
  if (is_of<PayloadPlace>(option)) return "{}";
  if (is_of<double>(option)) return R"({"type":"number"})";
  if (is_of<Duration>(option)) return R"({"type":"string"})";
  if (is_of<MomentPlace>(option) || is_of<Decimal>(option)) return R"({"type":["string","number"]})";
  if (is_of<std::int32_t>(option))
    return fmt::format(R"({{"type":"integer","minimum":{},"maximum":{}}})", option.least, option.most);
  if (is_of<std::vector<Window>>(option))
    return fmt::format(R"({{"type":"array","maxItems":{},"items":{}}})", option.most, reference_to("Window"));
  return reference_to("Name");
}

std::string new_job_schema() {
  ObjectText properties;
  for (const auto& option : kPushOptions) properties.raw(option.name, schema_of(option));
  return ObjectText().text("type", "object").raw("properties", properties.end()).end();
}

}  // namespace

std::string openapi_of(const std::vector<Route>& routes) {
  std::map<std::string_view, ObjectText> by_path;
  for (const Route& route : routes) {
    if (const auto* operation = operation_of(route))
      by_path[route.path].raw(lower(route.method), operation_text(route, *operation));
  }
  ObjectText paths;
  for (const auto& [path, operations] : by_path) paths.raw(path, operations.end());
  ObjectText schemas;
  for (const Shape& shape : shapes()) schemas.raw(shape.name, shape.schema);
  schemas.raw("NewJob", new_job_schema());
  return ObjectText()
             .text("openapi", "3.1.0")
             .raw("info", ObjectText().text("title", "Ordo").text("version", kVersion).end())
             .raw("paths", paths.end())
             .raw("components", ObjectText().raw("schemas", schemas.end()).end())
             .end() +
         '\n';
}

}  // namespace ordo::web
