#include "web/dashboard.h"

#include <gtest/gtest.h>

#include "web/dashboard_files.h"

namespace ordo::web::dashboard_test {
namespace {

bool is_page(std::string_view address) { return is_dashboard_page(parse_target(address).value()); }

TEST(Dashboard, every_page_is_one_and_addresses_of_the_api_are_none) {
  for (const auto* page :
       {"/queues", "/queues/orders", "/queues/orders/keys/customer%3A4711",
        "/queues/orders/jobs/a%2Fb?kind=k", "/jobs?queue=orders&state=due", "/dead", "/why", "/audit"})
    EXPECT_TRUE(is_page(page)) << page;
  for (const auto* other :
       {"/", "/api/v1/queues", "/queues/orders/pause", "/queues/orders/jobs", "/metrics", "/nowhere"})
    EXPECT_FALSE(is_page(other)) << other;
}

TEST(Dashboard, addresses_of_files_lead_up_from_the_folder_of_the_page) {
  constexpr std::string_view kPage =
      "<script src=\"./assets/a.js\"></script><link href=\"./assets/b.css\"><i title=\"x./y\">";
  EXPECT_EQ(page_in_folder(kPage, 0), kPage);
  EXPECT_EQ(
      page_in_folder(kPage, 2),
      "<script src=\"../../assets/a.js\"></script><link href=\"../../assets/b.css\"><i title=\"x./y\">");
}

TEST(Dashboard, the_program_has_its_files_and_smaller_copies_of_text) {
  std::size_t scripts = 0;
  for (const auto& file : dashboard_files()) {
    EXPECT_FALSE(file.plain.text().empty()) << file.path;
    if (!file.path.ends_with(".js")) continue;
    ++scripts;
    EXPECT_LT(file.gzip.text().size(), file.plain.text().size());
    EXPECT_TRUE(file.gzip.text().starts_with("\x1f\x8b"));
  }
  EXPECT_GE(scripts, 1U);
}

}  // namespace
}  // namespace ordo::web::dashboard_test
