// The pages for people: files of dashboard/dist that are part of the program. They show nothing by
// themselves; what they show they ask the API for.
#include "web/dashboard.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/shorten.h"
#include "web/dashboard_files.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

constexpr std::string_view kFirstPage = "index.html";

/// As in dashboard/src/pages.ts, and the addresses in app.tsx.
constexpr std::array<std::string_view, 12> kPages{"queues",  "jobs",    "dead",      "why",
                                                  "limits",  "windows", "responses", "periodic",
                                                  "sources", "nodes",   "audit",     "more"};

const DashboardFile* file_at(std::string_view path) {
  const auto files = dashboard_files();
  const auto found = std::ranges::find(files, path, &DashboardFile::path);
  return found == files.end() ? nullptr : &*found;
}

std::string_view type_of(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{{
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".html", "text/html; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".woff2", "font/woff2"},
  }};
  for (const auto& [end, type] : kTypes) {
    if (path.ends_with(end)) return type;
  }
  return "application/octet-stream";
}

bool takes_gzip(const Request& request) {
  return lower(request.header("accept-encoding")).find("gzip") != std::string::npos;
}

/// The hash in the name changes with the file, so it is kept for ever.
Response asset(const Call& call) {
  const auto path = "assets/" + call.value(0);
  const auto* file = file_at(path);
  if (file == nullptr)
    throw Problem(404, fmt::format("no file of the dashboard is named {}", in_quotes(call.value(0))));
  const auto tag = fmt::format("\"{}\"", call.value(0));
  Response response{.type = std::string(type_of(path)),
                    .headers = {{"Cache-Control", "public, max-age=31536000, immutable"},
                                {"ETag", tag},
                                {"Vary", "Accept-Encoding"}}};
  if (call.request.header("if-none-match") == tag) {
    response.status = 304;
  } else if (file->gzip.begin != nullptr && takes_gzip(call.request)) {
    response.body = file->gzip.text();
    response.headers.emplace_back("Content-Encoding", "gzip");
  } else {
    response.body = file->plain.text();
  }
  return response;
}

/// Folders below the first page, as the browser counts them: an escaped slash is none.
std::size_t folders_of(std::string_view target) {
  const auto path = target.substr(0, target.find('?'));
  return static_cast<std::size_t>(std::ranges::count(path, '/')) - 1;
}

Response first_page(const Call& call) {
  const auto* file = file_at(kFirstPage);
  if (file == nullptr) throw Problem(404, "this program was built without the dashboard");
  return {.body = page_in_folder(file->plain.text(), folders_of(call.request.target)),
          .type = std::string(type_of(kFirstPage)),
          .headers = {{"Cache-Control", "no-cache"}}};
}

}  // namespace

bool is_dashboard_page(const Target& target) {
  const auto& path = target.path;
  if (path.empty() || path.back().empty()) return false;
  if (path.size() == 1) return std::ranges::find(kPages, path[0]) != kPages.end();
  if (path[0] != "queues") return false;
  return path.size() == 2 || (path.size() == 4 && (path[2] == "keys" || path[2] == "jobs"));
}

std::string page_in_folder(std::string_view page, std::size_t folders) {
  constexpr std::string_view kHere = "=\"./";
  std::string up;
  for (std::size_t i = 0; i < folders; ++i) up += "../";
  std::string text;
  for (auto at = page.find(kHere); at != std::string_view::npos; at = page.find(kHere)) {
    text += page.substr(0, at);
    text += folders == 0 ? std::string(kHere) : "=\"" + up;
    page.remove_prefix(at + kHere.size());
  }
  return text + std::string(page);
}

void add_dashboard_routes(std::vector<Route>& routes) {
  routes.push_back({"GET", "/", Needs::nobody, "The dashboard", first_page, 0, {}, false});
  routes.push_back({"GET", "/assets/{file}", Needs::nobody, "A file of the dashboard", asset, 0, {}, false});
}

}  // namespace ordo::web
