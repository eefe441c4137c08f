// The frame and the escaped text of all pages.
#include "harness/report/html.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, shows_what_others_have_named) {
  EXPECT_EQ(html("<b a='1' c=\"2\">&amp;"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
  EXPECT_EQ(html("naïve 日本 😀"), "naïve 日本 😀");
  EXPECT_EQ(html(std::string("\0\x1b\x7f", 3)), "\\x00\\x1b\\x7f");
  EXPECT_EQ(html("\xff\xc0\x80\xe2\x82"), "\\xff\\xc0\\x80\\xe2\\x82");
  EXPECT_EQ(html("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
}

RC_GTEST_PROP(Html, leaves_nothing_that_means_something, ()) {
  const std::string shown = html(*rc::gen::arbitrary<std::string>());
  RC_ASSERT(shown.find_first_of("<>\"'") == std::string::npos);
  // JSON refuses text that is not UTF-8.
  RC_ASSERT(!nlohmann::json(shown).dump().empty());
}

TEST(Page, runs_a_script_only_if_it_has_one) {
  EXPECT_THAT(to_html(Page{.title = "a<b>", .style = "p {}", .body = "<p>c</p>"}),
              testing::AllOf(HasSubstr("<title>a&lt;b&gt;</title>"),
                             HasSubstr("<h1>a&lt;b&gt;</h1>\n<p>c</p>"),
                             HasSubstr("p {}"),
                             Not(HasSubstr("script"))));
  EXPECT_THAT(
      to_html(Page{.title = "", .style = "", .body = "", .script = "go()"}),
      testing::AllOf(HasSubstr("script-src 'unsafe-inline'"), HasSubstr("<script>go()</script>")));
}

}  // namespace
}  // namespace lastref::harness
