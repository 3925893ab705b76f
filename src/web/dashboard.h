#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/router.h"
#include "web/target.h"

namespace ordo::web {

/// Whether a target is a page of the dashboard other than "/": they are all one file, whose program reads the
/// address.
bool is_dashboard_page(const Target& target);

/// The first page with addresses that fit a page `folders` folders down: the files of the dashboard are found
/// behind any prefix that a proxy takes off, and no `<base>` is needed.
std::string page_in_folder(std::string_view page, std::size_t folders);

/// "/" and "/assets/{file}".
void add_dashboard_routes(std::vector<Route>& routes);

}  // namespace ordo::web
