// What routes say of themselves, as other programs read it.
#include <map>

#include <fmt/format.h>

#include <ordo/version.hpp>

#include "base/json.h"
#include "web/api.h"

namespace ordo::web {
namespace {

std::string parameters_of(std::string_view path) {
  std::string text;
  for (auto at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    const auto name = path.substr(at + 1, path.find('}', at) - at - 1);
    text += fmt::format(R"({}{{"name":"{}","in":"path","required":true,"schema":{{"type":"string"}}}})",
                        text.empty() ? "" : ",", name);
  }
  return text;
}

std::string body_of_route(const Route& route) {
  if (route.most_body == 0) return {};
  std::string content = R"("application/json":{})";
  if (route.upload) content += R"(,"application/x-ndjson":{})";
  return fmt::format(R"("requestBody":{{"content":{{{}}}}},)", content);
}

std::string lower_method(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::string openapi_of(const std::vector<Route>& routes) {
  std::map<std::string_view, std::string> paths;
  for (const Route& route : routes) {
    auto& operations = paths[route.path];
    operations +=
        fmt::format(R"x({}"{}":{{"summary":{},"parameters":[{}],{}"responses":{{"default":{{"description":)x"
                    R"x("The answer, or a problem (application/problem+json)"}}}}}})x",
                    operations.empty() ? "" : ",", lower_method(route.method), json_string(route.what),
                    parameters_of(route.path), body_of_route(route));
  }
  std::string text;
  for (const auto& [path, operations] : paths)
    text += fmt::format("{}{}:{{{}}}", text.empty() ? "" : ",\n", json_string(path), operations);
  return fmt::format(R"({{"openapi":"3.1.0","info":{{"title":"Ordo","version":"{}"}},"paths":{{{}}}}})",
                     kVersion, text) +
         '\n';
}

}  // namespace ordo::web
