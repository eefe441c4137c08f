#include "property_tests/support/transcript.hpp"

#include <algorithm>
#include <compare>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/support/exclusive_lock.hpp"

namespace lastref::pretend {
namespace {

namespace fs = std::filesystem;

constexpr const char* command = "LASTREF_TRANSCRIPTS=write ./lastref test -L transcripts";
constexpr std::string_view mark = "== ";

/// A test, the line that it begins at, and the number of a text of it, from 1. A section whose test
/// is not in this program has the line 0.
struct Heading {
  int line = 0;
  std::string test;
  std::size_t number = 1;

  std::string text() const { return test + (number == 1 ? "" : " " + std::to_string(number)); }
  auto operator<=>(const Heading&) const = default;
};

using Sections = std::map<Heading, std::string>;

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

/// ccache lets a compiler see the source by a path that is relative to the build folder.
fs::path transcript_of(const std::string& source) {
  const std::size_t start = source.find("property_tests/");
  return (fs::path(LASTREF_CHECKOUT) / source.substr(std::min(start, source.size())))
      .replace_extension("transcript");
}

/// The lines at which the tests of this program begin, by file and name.
const std::map<fs::path, std::map<std::string, int>>& tests_of_program() {
  static const auto tests = [] {
    std::map<fs::path, std::map<std::string, int>> found;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& suite = *all.GetTestSuite(i);
      for (int j = 0; j < suite.total_test_count(); ++j) {
        const testing::TestInfo& test = *suite.GetTestInfo(j);
        found[transcript_of(test.file())][full_name(test)] = test.line();
      }
    }
    return found;
  }();
  return tests;
}

std::string shown(const fs::path& path) {
  return path.lexically_relative(LASTREF_CHECKOUT);
}

bool writes() {
  os::KernelOs os;
  return os.environment("LASTREF_TRANSCRIPTS") == "write";
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// One transcript, locked: other tests of its program may be at work in other processes.
class Transcript {
 public:
  explicit Transcript(fs::path path) : path_(std::move(path)), lock_(path_.parent_path()) {
    lock_.take();
    read();
  }

  Sections& sections() noexcept { return sections_; }

  /// Leaves out sections that have no test.
  void write() const {
    std::string text;
    for (const auto& [heading, section] : sections_) {
      if (heading.line != 0) {
        text += std::string(text.empty() ? "" : "\n") + std::string(mark) + heading.text() + "\n" +
                section;
      }
    }
    if (text.empty()) {
      fs::remove(path_);
      return;
    }
    std::ofstream(path_, std::ios::binary) << text;
  }

 private:
  void read() {
    std::ifstream stream(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::string* section = nullptr;
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with(mark)) {
        if (section != nullptr && !section->empty()) {
          section->pop_back();  // An empty line is above each heading but the first.
        }
        section = &sections_[heading_of(line.substr(mark.size()))];
      } else if (section != nullptr) {
        *section += line + "\n";
      }
    }
  }

  Heading heading_of(const std::string& text) const {
    Heading heading{.test = text.substr(0, text.find(' '))};
    if (heading.test != text) {
      heading.number = std::stoul(text.substr(heading.test.size()));
    }
    const auto file = tests_of_program().find(path_);
    if (file != tests_of_program().end() && file->second.contains(heading.test)) {
      heading.line = file->second.at(heading.test);
    }
    return heading;
  }

  fs::path path_;
  ExclusiveLock lock_;
  Sections sections_;
};

/// Counts the texts of the running test, and sees to it that none of its sections stays unread.
class SectionsOfTest final : public testing::EmptyTestEventListener {
 public:
  std::size_t next() noexcept { return ++read_; }

  void OnTestStart(const testing::TestInfo&) override { read_ = 0; }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Failed() || test.result()->Skipped()) {
      return;
    }
    const fs::path path = transcript_of(test.file());
    if (!fs::exists(path)) {
      return;
    }
    Transcript transcript(path);
    const std::size_t unread = std::erase_if(transcript.sections(), [&](const auto& section) {
      return section.first.test == full_name(test) && section.first.number > read_;
    });
    if (unread != 0 && writes()) {
      transcript.write();
    } else if (unread != 0) {
      ADD_FAILURE_AT(test.file(), test.line())
          << shown(path) << " has " << unread << " more sections of this test than it has texts. "
          << "To write them again: " << command;
    }
  }

 private:
  std::size_t read_ = 0;
};

SectionsOfTest& sections_of_test() {
  static SectionsOfTest& listener = *new SectionsOfTest;  // Owned by the list of listeners
  return listener;
}

class NoOrphans final : public testing::Test {
 public:
  void TestBody() override {
    for (const auto& [path, tests] : tests_of_program()) {
      if (!fs::exists(path)) {
        continue;
      }
      Transcript transcript(path);
      if (writes()) {
        transcript.write();
        continue;
      }
      for (const auto& [heading, text] : transcript.sections()) {
        EXPECT_NE(heading.line, 0)
            << shown(path) << " has a section of a test that does not exist: " << heading.text()
            << ". To remove it: " << command;
      }
    }
  }
};

const bool registered = [] {
  testing::UnitTest::GetInstance()->listeners().Append(&sections_of_test());
  std::error_code ignored;  // Where there is no /proc, it is not a test that is started.
  const std::string program = fs::read_symlink("/proc/self/exe", ignored).filename();
  testing::RegisterTest("Transcripts",
                        ("of_" + program + "_have_sections_of_existing_tests").c_str(),
                        nullptr,
                        nullptr,
                        __FILE__,
                        __LINE__,
                        []() -> testing::Test* { return new NoOrphans; });
  return true;
}();

}  // namespace

void expect_transcript(std::string_view text, const char* file, int line) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const Heading heading{
      .line = test.line(), .test = full_name(test), .number = sections_of_test().next()};
  std::string observed(text);
  if (!observed.empty() && !observed.ends_with('\n')) {
    observed += '\n';
  }
  if (observed.starts_with(mark) || observed.find("\n" + std::string(mark)) != std::string::npos) {
    ADD_FAILURE_AT(file, line) << "a line of this text reads as a heading:\n" << observed;
    return;
  }
  const fs::path path = transcript_of(test.file());
  Transcript transcript(path);
  const auto section = transcript.sections().find(heading);
  if (section != transcript.sections().end() && section->second == observed) {
    return;
  }
  if (writes()) {
    transcript.sections()[heading] = observed;
    transcript.write();
    return;
  }
  std::string difference = "(there is no such section)\n" + observed;
  if (section != transcript.sections().end()) {
    difference = testing::internal::edit_distance::CreateUnifiedDiff(lines_of(section->second),
                                                                     lines_of(observed));
  }
  ADD_FAILURE_AT(file, line) << "- " << shown(path) << ": " << mark << heading.text()
                             << "\n+ this text\n"
                             << difference << "To accept the text: " << command;
}

void expect_transcript(const std::vector<std::string>& lines, const char* file, int line) {
  std::string text;
  for (const std::string& each : lines) {
    text += each + (each.ends_with('\n') ? "" : "\n");
  }
  expect_transcript(text, file, line);
}

std::string with_replacements(
    std::string text, const std::vector<std::pair<std::string, std::string>>& replacements) {
  for (const auto& [from, to] : replacements) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

}  // namespace lastref::pretend
