// call_sites_test: the functions that have led to a call, of programs and of Python scripts.
#include "harness/warden/call_sites.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "harness/platform/child_process.hpp"
#include "harness/warden/points.hpp"
#include "harness/warden/python_frames.hpp"
#include "harness/warden/thread_memory.hpp"
#include "property_tests/harness/warden/watched.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class CallSitesTest : public WardenTest {
 protected:
  void TearDown() override { empty(folder_); }

  static Watched with_sites(std::vector<std::string> command) {
    return must({.command = std::move(command),
                 .wants_sites = true,
                 .also = {"write", "vfork", "clone", "clone3"}});
  }

  /// Of a call on this name in the folder
  std::vector<std::string> frames_at(const Watched& watched, const std::string& name) const {
    const auto found = std::ranges::find(watched.calls, folder_.path(name), &CallSeen::object);
    return found == watched.calls.end() ? std::vector<std::string>() : found->site.frames;
  }

  /// Only the functions: "main" for "main+0x12 (program)"
  static std::vector<std::string> functions(const std::vector<std::string>& frames) {
    std::vector<std::string> names;
    for (const std::string& each : frames) {
      const std::string name = each.substr(0, each.find('+'));
      names.push_back(name.substr(name.rfind(':') + 1));
    }
    return names;
  }

  /// The sites of calls of this kind
  static std::set<std::vector<std::string>> sites_of(const Watched& watched,
                                                     std::string_view call,
                                                     const std::string& object = "") {
    std::set<std::vector<std::string>> sites;
    for (const CallSeen& each : watched.calls) {
      if (each.call == call && (object.empty() || each.object == object)) {
        sites.insert(each.site.frames);
      }
    }
    return sites;
  }

  std::string script(const std::string& text) const {
    folder_.write("job.py", text);
    return folder_.path("job.py");
  }

  pretend::FreshFolder folder_;
};

class CallSitesOf : public CallSitesTest, public testing::WithParamInterface<const char*> {};

TEST_P(CallSitesOf, a_wrapper_differ_by_its_callers) {
  const Watched watched = with_sites({GetParam(), folder_.path()});
  EXPECT_THAT(functions(frames_at(watched, "first")),
              ElementsAre("open_here", "from_first", "main", "_start"));
  EXPECT_THAT(functions(frames_at(watched, "second")),
              ElementsAre("open_here", "from_second", "main", "_start"));
  // It calls itself at one place.
  EXPECT_THAT(functions(frames_at(watched, "deep")),
              ElementsAre("open_here", "from_deep", "from_deep", "main", "_start"));
}

TEST_P(CallSitesOf, a_loop_are_one) {
  const Watched watched = with_sites({GetParam(), folder_.path()});
  const auto sites = sites_of(watched, "write", folder_.path("written"));
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(functions(*sites.begin()), ElementsAre("writes", "main", "_start"));
}

TEST_P(CallSitesOf, a_signal_handler_include_what_it_interrupts) {
  const Watched watched = with_sites({GetParam(), folder_.path()});
  EXPECT_THAT(functions(frames_at(watched, "in_handler")),
              ElementsAre("open_here", "on_signal", "main", "_start"));
}

TEST_P(CallSitesOf, vfork_are_known_though_it_has_no_frame) {
  const Watched watched = with_sites({GetParam(), folder_.path()});
  const auto sites = sites_of(watched, "vfork");
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(functions(*sites.begin()), ElementsAre("start_child", "main", "_start"));
}

TEST_P(CallSitesOf, two_runs_are_equal) {
  const Watched one = with_sites({GetParam(), folder_.path()});
  const Watched other = with_sites({GetParam(), folder_.path()});
  ASSERT_EQ(one.calls.size(), other.calls.size());
  for (std::size_t at = 0; at < one.calls.size(); ++at) {
    // What a wild stack pointer refers to is arbitrary.
    if (one.calls[at].object != "/") {
      EXPECT_EQ(one.calls[at].site.frames, other.calls[at].site.frames) << at;
    }
  }
}

TEST_P(CallSitesOf, wild_stacks_and_unknown_code_are_empty_or_short) {
  const Watched watched = with_sites({GetParam(), folder_.path()});
  const auto calls = std::ranges::count_if(watched.calls, [](const CallSeen& each) {
    return each.call == "mkdir" && each.object == "/";
  });
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(watched.root.code, 0);
}

TEST_P(CallSitesOf, a_process_that_dies_meanwhile_do_no_harm) {
  const Watched watched = with_sites({GetParam(), folder_.path(), "dies"});
  EXPECT_TRUE(watched.root.killed);
  EXPECT_THAT(sites_of(watched, "mkdir"), Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Programs,
                         CallSitesOf,
                         testing::Values(CALL_PATHS_PLAIN, CALL_PATHS_FAST),
                         [](const auto& which) { return which.index == 0 ? "plain" : "fast"; });

TEST_F(CallSitesTest, without_descriptions_of_frames_are_found_by_return_addresses) {
  const Watched watched = with_sites({CALL_PATHS_BARE, folder_.path()});
  const std::vector<std::string> first = functions(frames_at(watched, "first"));
  EXPECT_THAT(first, Contains("open_here"));
  EXPECT_THAT(first, Contains("from_first"));
  EXPECT_THAT(functions(frames_at(watched, "second")), Contains("from_second"));
  EXPECT_THAT(sites_of(watched, "write", folder_.path("written")), SizeIs(1));
}

TEST_F(CallSitesTest, of_a_thread_that_does_not_exist_are_empty) {
  const int child = start_child([] { return 0; });
  reap(child);
  CallSites sites;
  EXPECT_THAT(sites.of({.thread = child, .instruction = 4096}, child).frames, IsEmpty());
  EXPECT_THAT(sites.of({.thread = ::getpid(), .instruction = 0}, ::getpid()).frames, IsEmpty());
}

TEST_F(CallSitesTest, of_a_shell_have_the_names_of_files_without_symbols) {
  const Watched watched = with_sites({"/bin/sh", "-c", "echo > " + folder_.path("a")});
  const std::vector<std::string> frames = frames_at(watched, "a");
  EXPECT_THAT(frames, Not(IsEmpty()));
  EXPECT_THAT(frames, Each(HasSubstr("sh")));
}

constexpr const char* three_callers = R"(
import os, sys, threading
def save(name):
    with open(os.path.join(sys.argv[1], name), 'w') as file:
        file.write('x')
def first(): save('first')
def second(): save('second')
def third(depth):
    if depth:
        third(depth - 1)
    else:
        save('third')
def many():
    for number in range(100):
        os.close(os.open(
            os.path.join(sys.argv[1], 'many'),
            os.O_CREAT))
first(); second(); third(3); many()
thread = threading.Thread(target=save, args=('thread',))
thread.start()
thread.join()
if (child := os.fork()) == 0:
    save('child')
    os._exit(0)
os.waitpid(child, 0)
)";

TEST_F(CallSitesTest, of_a_python_script_have_its_lines) {
  const Watched watched = with_sites({"/usr/bin/python3", script(three_callers), folder_.path()});
  ASSERT_EQ(watched.root.code, 0);
  EXPECT_THAT(frames_at(watched, "first"),
              ElementsAre("job.py:4 in save", "job.py:6 in first", "job.py:18 in <module>"));
  EXPECT_THAT(frames_at(watched, "second"),
              ElementsAre("job.py:4 in save", "job.py:7 in second", "job.py:18 in <module>"));
  EXPECT_THAT(
      frames_at(watched, "third"),
      ElementsAre(
          "job.py:4 in save", "job.py:12 in third", "job.py:10 in third", "job.py:18 in <module>"));
  EXPECT_THAT(sites_of(watched, "openat", folder_.path("many")),
              ElementsAre(ElementsAre("job.py:15 in many", "job.py:18 in <module>")));
  EXPECT_THAT(frames_at(watched, "thread"), Contains("job.py:4 in save"));
  EXPECT_THAT(frames_at(watched, "thread"), Not(Contains("job.py:18 in <module>")));
  EXPECT_THAT(frames_at(watched, "child"),
              ElementsAre("job.py:4 in save", "job.py:23 in <module>"));
}

TEST_F(CallSitesTest, of_an_extension_of_python_have_its_functions_and_lines) {
  const Watched watched = with_sites(
      {"/usr/bin/python3",
       script(
           "import sqlite3, sys\ndef make():\n    sqlite3.connect(sys.argv[1] + '/db')\nmake()\n"),
       folder_.path()});
  const auto found = std::ranges::find(watched.calls, folder_.path("db"), &CallSeen::object);
  ASSERT_NE(found, watched.calls.end());
  EXPECT_THAT(found->site.frames.front(), HasSubstr("libsqlite3.so"));
  EXPECT_EQ(found->site.shown, "job.py:3 in make");
}

TEST_F(CallSitesTest, of_a_python_that_starts_are_those_of_the_program) {
  const Watched watched = with_sites({"/usr/bin/python3", "-S", "-c", "pass"});
  std::size_t native = 0;
  for (const CallSeen& each : watched.calls) {
    native += std::ranges::any_of(
        each.site.frames, [](const std::string& frame) { return frame.starts_with("Py_"); });
  }
  EXPECT_GT(native, 0U);
}

TEST_F(CallSitesTest, of_a_python_that_overwrites_itself_do_no_harm) {
  // The offsets of the name of a code object's file, of its table of lines, and of its name
  const Watched watched = with_sites({"/usr/bin/python3", script(R"(
import ctypes, os, sys
def word(address): return ctypes.c_uint64.from_address(address)
def save(): os.close(os.open('/', 0))
def broken(offset, value):
    place = word(id(save.__code__) + offset)
    kept = place.value
    place.value = value
    save()
    place.value = kept
for offset in 112, 120, 136:
    for value in 1, 2 ** 63, 2 ** 64 - 8, id(save), id(sys):
        broken(offset, value)
)")});
  EXPECT_EQ(watched.root.code, 0);
  EXPECT_THAT(sites_of(watched, "openat", "/"), Not(IsEmpty()));
}

TEST_F(CallSitesTest, find_the_line_of_every_instruction_in_a_table_of_python) {
  // What the interpreter itself says of the functions of a large module
  folder_.write("lines.py", R"(
import argparse, sys, types
def show(code, out):
    print('code', code.co_firstlineno, code.co_linetable.hex(), file=out)
    for start, end, line in code.co_lines():
        if line is not None:
            print('line', start // 2, line, file=out)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            show(each, out)
with open(argparse.__file__) as file, open(sys.argv[1], 'w') as out:
    if sys.version_info[:2] == (3, 11):
        show(compile(file.read(), 'argparse.py', 'exec'), out)
)");
  with_sites({"/usr/bin/python3", folder_.path("lines.py"), folder_.path("lines")});
  std::istringstream lines(folder_.read("lines"));
  std::string word;
  std::string table;
  int first = 0;
  int wrong = 0;
  while (lines >> word) {
    if (word == "code") {
      std::string hex;
      lines >> first >> hex;
      table.clear();
      for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
        table += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
      }
    } else {
      std::uint64_t instruction = 0;
      int line = 0;
      lines >> instruction >> line;
      wrong += line_in_python_table(table, first, instruction) == line ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(CallSitesTest, of_a_damaged_table_of_python_are_its_first_line) {
  for (const std::string& table : {std::string(),
                                   std::string("\x01"),
                                   std::string("\xff"),
                                   std::string("\xf0\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f")}) {
    EXPECT_EQ(line_in_python_table(table, 7, 100), 7);
  }
}

TEST(ThreadMemory, is_read_across_pages_up_to_memory_that_is_not_there) {
  constexpr std::size_t page = 4096;
  void* const pages =
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const begin = static_cast<char*>(pages);
  std::fill(begin, begin + 2 * page, 'a');
  ASSERT_EQ(::mprotect(begin + 2 * page, page, PROT_NONE), 0);
  ThreadMemory memory(::getpid());
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  EXPECT_EQ(memory.bytes(address + 1, 2 * page - 1), std::string(2 * page - 1, 'a'));
  EXPECT_THAT(memory.bytes(address + 1, 2 * page), IsEmpty());
  EXPECT_EQ(memory.word(address + page - 4), 0x6161616161616161U);
  EXPECT_EQ(memory.word(address + 2 * page - 7), std::nullopt);
  EXPECT_EQ(memory.word(UINT64_MAX - 3), std::nullopt);
  ::munmap(pages, 3 * page);
}

TEST(PointsWithSites, do_not_have_one_that_differs_in_the_other_run) {
  const auto call = [](const std::string& object, const std::string& frame) {
    return CallSeen{.role = "root",
                    .call = "mkdir",
                    .object = object,
                    .k = 1,
                    .site = {.frames = {frame}, .shown = frame}};
  };
  const Points points = points_of({call("/a", "main+0x1"), call("/b", "main+0x2")},
                                  {call("/a", "main+0x1"), call("/b", "main+0x3")});
  EXPECT_THAT(points.all[0].site.frames, ElementsAre("main+0x1"));
  EXPECT_THAT(points.all[1].site.frames, IsEmpty());
}

}  // namespace
}  // namespace lastref::harness::warden
