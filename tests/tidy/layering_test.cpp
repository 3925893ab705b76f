// Who may include whom: the picture in ARCHITECTURE.md, as a table.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source_tree.h"

namespace ordo::tidy {
namespace {

using Prefixes = std::vector<std::string_view>;

/// A folder of src/, and the folders below it. The public headers, <ordo/...>, are open to all.
const std::map<std::string_view, Prefixes>& layers() {
  static const std::map<std::string_view, Prefixes> table = {
      {"base", {"base/"}},
      {"domain", {"domain/", "base/"}},
      {"store", {"store/", "domain/", "base/"}},
      {"execute", {"execute/", "domain/", "base/"}},
      {"runtime", {"runtime/", "execute/", "store/", "domain/", "base/"}},
      {"sources", {"sources/", "runtime/", "execute/", "store/", "domain/", "base/"}},
      {"client", {"client/", "sources/", "runtime/", "execute/", "store/", "domain/", "base/"}},
      {"server", {"server/", "client/", "sources/", "runtime/", "execute/", "store/", "domain/", "base/"}},
      // The faces see only what a user's program sees.
      {"faces", {"faces/", "base/"}},
      {"web", {"web/", "faces/", "base/"}},
      {"cli", {"cli/", "web/", "faces/", "base/"}},
  };
  return table;
}

/// Who may know a third-party library. A header that no row names is open to all layers but the domain.
struct ThirdParty {
  std::string_view header;
  Prefixes folders;
};

const std::vector<ThirdParty>& third_parties() {
  static const std::vector<ThirdParty> table = {
      {"sqlite3.h", {"src/store/sqlite/"}},
      {"libpq-fe.h", {"src/store/postgres/"}},
      {"hiredis/", {"src/store/redis/"}},
      {"spdlog/", {"src/base/"}},  // five seconds a file: behind base/log.h
      {"CLI/", {"src/cli/"}},
      {"toml++/", {"src/server/", "src/cli/"}},
      {"toml.hpp", {}},
      {"date/", {}},  // wrong after 2037: cctz
  };
  return table;
}

/// The domain is pure: containers, calendars and a checksum, no I/O, threads or clocks.
const Prefixes kDomainLibraries = {
    "boost/intrusive/", "boost/container/", "boost/container_hash/", "boost/unordered/", "cctz/", "zlib.h"};
const std::set<std::string_view> kImpureStandardHeaders = {
    "thread",  "mutex",     "shared_mutex", "condition_variable", "future",  "semaphore",  "latch",
    "barrier", "atomic",    "random",       "iostream",           "fstream", "filesystem", "cstdio",
    "ctime",   "stop_token"};

bool starts_with_any(std::string_view text, const Prefixes& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

std::string_view first_folder(std::string_view path) { return path.substr(0, path.find('/')); }

bool is_ours(std::string_view include) { return layers().contains(first_folder(include)); }

std::string at(std::string_view path, const Include& include) {
  return std::string(path) + ":" + std::to_string(include.line) + " includes " + include.path;
}

template <typename Check>
void for_each_include(std::string_view folder, Check check) {
  for (const std::string& path : files_under(folder, {".h", ".hpp", ".cpp"})) {
    for (const Include& include : includes_of(path)) check(path, include);
  }
}

TEST(Layering, a_folder_includes_only_itself_and_folders_below) {
  for (const auto& [layer, allowed] : layers()) {
    for_each_include("src/" + std::string(layer), [&](std::string_view path, const Include& include) {
      EXPECT_TRUE(!is_ours(include.path) || starts_with_any(include.path, allowed)) << at(path, include);
    });
  }
}

TEST(Layering, every_folder_of_src_is_a_layer) {
  for (const std::string& path : files_under("src", {".h", ".hpp", ".cpp"})) {
    EXPECT_TRUE(layers().contains(first_folder(std::string_view(path).substr(4)))) << path;
  }
}

TEST(Layering, includes_of_ours_are_written_from_src) {
  for_each_include("src", [](std::string_view path, const Include& include) {
    EXPECT_FALSE(include.path.starts_with(".")) << at(path, include);
  });
}

const Prefixes kPlainRedis = {"store/redis/connection.h", "store/redis/location.h", "store/redis/resp.h",
                              "store/redis/sentinel.h"};

TEST(Layering, a_backend_is_known_only_to_itself_and_to_open) {
  for (const std::string backend : {"store/memory/", "store/sqlite/", "store/redis/", "store/postgres/"}) {
    for_each_include("src", [&](std::string_view path, const Include& include) {
      if (!include.path.starts_with(backend) || path.starts_with("src/" + backend)) return;
      if (path == "src/store/open.cpp" || is_test_code(path)) return;
      if (include.path == "store/sqlite/raw_bench.h") return;  // plain SQLite, nothing of the store
      // Sources speak to servers of others: the protocol alone, nothing of the store.
      if (path.starts_with("src/sources/") && starts_with_any(include.path, kPlainRedis)) return;
      ADD_FAILURE() << at(path, include);
    });
  }
}

TEST(Layering, the_domain_is_pure) {
  for_each_include("src/domain", [](std::string_view path, const Include& include) {
    if (is_ours(include.path) || include.path.starts_with("ordo/") || is_test_code(path)) return;
    const bool standard = include.path.find_first_of("/.") == std::string::npos;
    if (standard) {
      EXPECT_FALSE(kImpureStandardHeaders.contains(include.path)) << at(path, include);
    } else {
      EXPECT_TRUE(starts_with_any(include.path, kDomainLibraries)) << at(path, include);
    }
  });
}

TEST(Layering, third_party_headers_stay_where_they_are_wrapped) {
  for_each_include("src", [](std::string_view path, const Include& include) {
    for (const ThirdParty& library : third_parties()) {
      if (!include.path.starts_with(library.header)) continue;
      EXPECT_TRUE(starts_with_any(path, library.folders)) << at(path, include);
    }
  });
}

TEST(Layering, public_headers_name_no_third_party) {
  for_each_include("include", [](std::string_view path, const Include& include) {
    const bool standard = include.path.find_first_of("/.") == std::string::npos;
    EXPECT_TRUE(standard || include.path.starts_with("ordo/")) << at(path, include);
  });
}

TEST(Layering, every_header_is_guarded) {
  for (const std::string_view folder : {"include", "src", "tests"}) {
    for (const std::string& path : files_under(folder, {".h", ".hpp"})) {
      EXPECT_NE(read(path).find("#pragma once"), std::string::npos) << path;
    }
  }
}

}  // namespace
}  // namespace ordo::tidy
