// tidy_test: shows every rule a violation, and then shows all of them the checkout.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "property_tests/repo/tidy/rules.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::tidy {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool is_read(const std::filesystem::path& path) {
  const std::string name = path.filename();
  const std::string extension = path.extension();
  constexpr const char* extensions[] = {
      ".cpp", ".hpp", ".def", ".md", ".cmake", ".json", ".txt", ".transcript"};
  return std::ranges::find(extensions, extension) != std::end(extensions) || name == "lastref" ||
         name == "run";
}

/// Every text of the checkout but what is built or belongs to git.
std::vector<File> read_checkout() {
  const std::filesystem::path checkout = LASTREF_CHECKOUT;
  std::vector<File> files;
  auto walk = std::filesystem::recursive_directory_iterator(checkout);
  for (const auto& entry : walk) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() && (name == "build" || name == ".git")) {
      walk.disable_recursion_pending();
    } else if (entry.is_regular_file() && is_read(entry.path())) {
      files.push_back({entry.path().lexically_relative(checkout), read_text(entry.path())});
    }
  }
  std::ranges::sort(files, {}, &File::path);
  return files;
}

std::string to_text(const std::vector<Finding>& findings) {
  std::ostringstream text;
  for (const Finding& finding : findings) {
    text << finding << '\n';
  }
  return text.str();
}

TEST(Tidy, finds_nothing_in_the_checkout) {
  const std::vector<File> files = read_checkout();
  ASSERT_GT(files.size(), 20U);
  EXPECT_EQ(to_text(check(files)), "");
}

TEST(Tidy, has_no_more_avoided_words_than_each_folder_may) {
  constexpr WordLimit limits[] = {
      {"README.md", 3},
      {"impl/", 0},
      {"harness/", 48},
      {"fault_scenarios/", 0},
      {"bench/", 29},
      {"property_tests/", 83},
  };
  EXPECT_EQ(to_text(check_prose(read_checkout(), limits)), "");
}

TEST(TidyProse, counts_whole_words_in_any_case) {
  EXPECT_EQ(count_avoided_words("Nobody knows who. Anew, for ever."), 4U);
  EXPECT_EQ(count_avoided_words("whole nobody_s who_waits awho forever behindhand"), 0U);
  EXPECT_EQ(count_avoided_words(""), 0U);
}

TEST(TidyProse, holds_the_count_of_each_folder_to_its_limit) {
  const File files[] = {{"impl/a.cpp", "// who\n"},
                        {"impl/page.md", "whose\n"},
                        {"impl/table.json", "nobody"},
                        {"bench/b.hpp", "// who\n"}};
  constexpr WordLimit exact[] = {{"impl/", 2}, {"bench/", 1}};
  EXPECT_EQ(to_text(check_prose(files, exact)), "");
  constexpr WordLimit low[] = {{"impl/", 1}};
  pretend::expect_transcript(to_text(check_prose(files, low)));
  constexpr WordLimit high[] = {{"bench/", 2}};
  pretend::expect_transcript(to_text(check_prose(files, high)));
}

/// A text, and whether it must raise a complaint.
struct Planted {
  std::string name;
  File file;
  bool is_found = false;
};

constexpr bool found = true;
constexpr bool accepted = false;

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

std::string cpp(const std::string& code) {
  return "// x: a planted text.\n" + code + "\n";
}
std::string hpp(const std::string& code) {
  return cpp("#pragma once\n" + code);
}

const std::string os_cpp = "impl/os/x.cpp";
const std::string harness_cpp = "harness/sim/x.cpp";

const Planted planted_texts[] = {
    // Includes.
    {"os_above_itself", {os_cpp, cpp("#include <lastref/tracker.hpp>")}, found},
    {"array_above_itself", {"impl/array/x.cpp", cpp("#include <lastref/tracker.hpp>")}, found},
    {"os_looks_up", {os_cpp, cpp("#include \"impl/tracker/x.hpp\"")}, found},
    {"product_sees_harness", {"impl/tracker/x.cpp", cpp("#include \"harness/sim/x.hpp\"")}, found},
    {"harness_looks_inside", {harness_cpp, cpp("#include \"impl/tracker/x.hpp\"")}, found},
    {"harness_sees_scenarios", {harness_cpp, cpp("#include \"fault_scenarios/x.hpp\"")}, found},
    {"worlds_see_each_other", {harness_cpp, cpp("#include \"harness/kernel/x.hpp\"")}, found},
    {"report_sees_campaigns",
     {"harness/report/x.cpp", cpp("#include \"harness/explore/x.hpp\"")},
     found},
    {"campaigns_see_reports",
     {"harness/explore/x.cpp", cpp("#include \"harness/report/x.hpp\"")},
     accepted},
    {"harness_without_a_room", {"harness/x.cpp", cpp("")}, found},
    {"door_above_its_room",
     {"impl/include/lastref/os.hpp", hpp("#include <lastref/tracker.hpp>")},
     found},
    {"include_by_neighbour", {os_cpp, cpp("#include \"x.hpp\"")}, found},
    {"include_by_dots", {os_cpp, cpp("#include \"../os/x.hpp\"")}, found},
    {"room_without_row", {"impl/cellar/x.cpp", cpp("")}, found},
    {"door_without_row", {"impl/include/lastref/x.hpp", hpp("")}, found},
    {"kernel_in_product", {"impl/tracker/x.cpp", cpp("#include <unistd.h>")}, found},
    {"kernel_in_header", {"impl/os/kernel_os.hpp", hpp("#include <sys/epoll.h>")}, found},
    {"kernel_in_sim", {harness_cpp, cpp("#include <csignal>")}, found},
    {"libfiu_elsewhere", {"harness/instrument/x.cpp", cpp("#include <fiu-control.h>")}, found},
    {"codec_is_lent", {harness_cpp, cpp("#include \"impl/tracker/codec.hpp\"")}, accepted},
    {"codec_is_not_lent",
     {"fault_scenarios/x.cpp", cpp("#include \"impl/tracker/codec.hpp\"")},
     found},
    {"kernel_at_its_door", {"impl/os/kernel_os.cpp", cpp("#include <unistd.h>")}, accepted},
    {"test_looks_inside", {"property_tests/x.cpp", cpp("#include \"impl/os/x.hpp\"")}, accepted},
    // Words.
    {"sleep", {harness_cpp, cpp("std::this_thread::sleep_for(wait);")}, found},
    {"random", {harness_cpp, cpp("std::random_device device;")}, found},
    {"rand", {harness_cpp, cpp("int n = rand() % 2;")}, found},
    {"system", {harness_cpp, cpp("std::system(line);")}, found},
    {"getenv", {harness_cpp, cpp("std::getenv(name);")}, found},
    {"getenv_in_main", {"harness/cli/main.cpp", cpp("std::getenv(name);")}, accepted},
    {"disabled", {"property_tests/x.cpp", cpp("TEST(X, DISABLED_y) {}")}, found},
    {"skipped", {"property_tests/x.cpp", cpp("GTEST_SKIP();")}, found},
    {"skipped_with_reason",
     {"property_tests/x.cpp", cpp("GTEST_SKIP() << \"no user ns\";")},
     accepted},
    {"using_std", {os_cpp, cpp("using namespace std;")}, found},
    {"using_literals", {os_cpp, cpp("using namespace std::chrono_literals;")}, accepted},
    {"view", {os_cpp, cpp("for (auto x : map | std::views::keys) {}")}, found},
    {"throws", {os_cpp, cpp("throw 1;")}, found},
    {"thread_in_product", {os_cpp, cpp("std::thread worker;")}, found},
    {"clock", {"impl/tracker/x.cpp", cpp("using C = std::chrono::steady_clock;")}, found},
    {"stream_in_product", {os_cpp, cpp("std::cerr << 1;")}, found},
    {"fork", {harness_cpp, cpp("::fork();")}, found},
    {"errno_above_os", {"impl/tracker/x.cpp", cpp("if (errno == 2) {}")}, found},
    {"injected", {"impl/tracker/x.cpp", cpp("if (error.injected) {}")}, found},
    {"word_in_comment", {os_cpp, cpp("// never rand(), never throw")}, accepted},
    {"word_in_text",
     {os_cpp, cpp("auto a = \"throw\"; auto b = R\"(rand())\"; int c = '\"';")},
     accepted},
    {"word_after_text", {os_cpp, cpp("auto a = \"\\\"\"; throw 1'000;")}, found},
    {"word_in_word", {os_cpp, cpp("bool operand = rethrow(brand);")}, accepted},
    // Limits.
    {"limit_outside_the_table", {os_cpp, cpp("constexpr int tries_max = 3;")}, found},
    {"buffer_outside_the_table",
     {os_cpp, cpp("constexpr std::size_t read_size{std::size_t{64} * 1024};")},
     found},
    {"number_of_a_format", {os_cpp, cpp("constexpr int header_size = 3;")}, accepted},
    {"time_limit", {os_cpp, cpp("constexpr std::chrono::seconds x_max{1};")}, accepted},
    {"limit_of_harness", {harness_cpp, cpp("constexpr int x_max = 3;")}, accepted},
    // Shape.
    {"long_line", {os_cpp, cpp("//" + std::string(99, '-'))}, found},
    {"full_line", {os_cpp, cpp("//" + std::string(98, '-'))}, accepted},
    {"no_first_sentence", {"impl/os/x.hpp", "#include <array>\n#pragma once\n"}, found},
    {"no_guard", {"impl/os/x.hpp", cpp("")}, found},
    {"work_to_do",
     {os_cpp,
      cpp("// TO"
          "DO: later")},
     found},
    {"machine",
     {"x.md",
      "# x\ncd /wo"
      "rk/main\n"},
     found},
    {"no_title", {"x.md", "text\n"}, found},
    {"two_titles", {"x.md", "# a\n# b\n"}, found},
    {"title_and_script", {"x.md", "# a\n```\n# b\n```\n"}, accepted},
    // Docs.
    {"result_without_errors",
     {"impl/include/lastref/tracker.hpp", hpp("/// Does it.\nStatus run();")},
     found},
    {"result_with_errors",
     {"impl/include/lastref/tracker.hpp", hpp("/// Does it.\n/// Errors     none\nStatus run();")},
     accepted},
    {"private_result",
     {"impl/include/lastref/tracker.hpp", hpp("class X {\n private:\n  Status run();\n};")},
     accepted},
};

class PlantedText : public testing::TestWithParam<Planted> {};

TEST_P(PlantedText, raises_its_complaint_and_no_other) {
  const File& file = GetParam().file;
  const File list = {"CMakeLists.txt", "add_library(all\n  " + file.path + ")\n"};
  const std::vector<Finding> findings = check(std::vector{file, list});
  if (!GetParam().is_found) {
    EXPECT_EQ(to_text(findings), "");
    return;
  }
  ASSERT_EQ(findings.size(), 1U) << to_text(findings);
  EXPECT_EQ(findings[0].path, file.path);
  pretend::expect_transcript(to_text(findings));
}

INSTANTIATE_TEST_SUITE_P(Tidy, PlantedText, testing::ValuesIn(planted_texts), [](const auto& each) {
  return each.param.name;
});

TEST(Tidy, a_source_that_no_list_names_is_found) {
  const File source = {"impl/os/x.cpp", cpp("")};
  const File list = {"impl/CMakeLists.txt", "add_library(a os/xx.cpp\n  tracker/os/x.cpp)\n"};
  const std::vector<Finding> findings = check(std::vector{source, list});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].path, source.path);
}

TEST(Tidy, a_source_that_a_pattern_of_a_list_matches_is_named) {
  const File list = {"bench/CMakeLists.txt", "file(GLOB all a/*.cpp *_bench.cpp)\n"};
  for (const char* path : {"bench/a/x.cpp", "bench/of_x_bench.cpp"}) {
    EXPECT_EQ(to_text(check(std::vector{File{path, cpp("")}, list})), "") << path;
  }
  for (const char* path : {"bench/b/x.cpp", "bench/a/b/x.cpp", "bench/x.cpp", "bench/x_test.cpp"}) {
    EXPECT_EQ(check(std::vector{File{path, cpp("")}, list}).size(), 1U) << path;
  }
}

TEST(Tidy, a_transcript_without_a_test_is_found) {
  const std::vector<File> files = {{"property_tests/a_test.cpp", cpp("")},
                                   {"property_tests/a_test.transcript", ""},
                                   {"property_tests/b/a_test.transcript", ""},
                                   {"property_tests/c_test.cmake", ""},
                                   {"property_tests/c_test.transcript", ""}};
  const std::vector<Finding> findings = check_transcripts(files);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].path, "property_tests/b/a_test.transcript");
}

TEST(Tidy, a_list_below_or_beside_does_not_count) {
  const File source = {"impl/os/x.cpp", cpp("")};
  const File list = {"harness/CMakeLists.txt", "add_library(a impl/os/x.cpp os/x.cpp)\n"};
  EXPECT_EQ(check(std::vector{source, list}).size(), 1U);
}

}  // namespace
}  // namespace lastref::tidy
