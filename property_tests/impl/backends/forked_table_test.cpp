// forked_table_test: each object that threads may share, in a child that was forked while another
// thread was in one of its methods, at each place where that can be.
//
// In the child each method is called, and then the object is destroyed. Each returns a value or
// operation_not_permitted, and no monitor of the parent is touched. An object, a public method or a
// lock in impl that the table lacks is a failed test.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/forked_subjects.hpp"

namespace lastref::forked {
namespace {

namespace fs = std::filesystem;

/// The exit code of a child; the number of the method is added.
enum Said : int { done = 0, refused_with_another_code = 10, touched = 70, gave_back = 130 };

/// Calls all methods in turn, if `calls`, and destroys the object.
[[noreturn]] void use_in_child(World& world, std::unique_ptr<Subject>& subject, bool calls) {
  std::size_t number = 0;
  const auto leave = [&](int said) { ::_exit(said + static_cast<int>(number)); };
  world.os.forbidden = [&] { leave(touched); };
  world.references->start_in_copy();
  world.references->not_held = [&] { leave(gave_back); };
  for (; number < subject->methods.size(); ++number) {
    const std::errc code = calls ? subject->methods[number].call() : std::errc{};
    if (code != std::errc{} && code != std::errc::operation_not_permitted) {
      leave(refused_with_another_code);
    }
  }
  subject.reset();
  // Not by exit: a leak checker would miss the memory of threads that are not in the copy.
  ::_exit(done);
}

std::string meaning_of(int code, const Subject& subject) {
  if (code == done) {
    return "";
  }
  const int said = code >= gave_back ? gave_back : code >= touched ? touched : code >= 10 ? 10 : -1;
  const auto number = static_cast<std::size_t>(code - said);
  if (said < 0 || number > subject.methods.size()) {
    return "exit code " + std::to_string(code);
  }
  const std::string name =
      number == subject.methods.size() ? "destruction" : subject.methods[number].name;
  return name + (said == gave_back ? " gives back what its parent holds"
                 : said == touched ? " touches a monitor of its parent"
                                   : " fails with another code");
}

class ForkedInside : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Every, ForkedInside, testing::ValuesIn(every_row()), [](const auto& each) {
  return each.param.object;
});

TEST_P(ForkedInside, no_method_waits_for_a_thread_of_the_parent_E8) {
#ifdef __SANITIZE_THREAD__
  if (GetParam().has_threads_in_child) {
    GTEST_SKIP() << "ThreadSanitizer bears no thread in a copy of a process that has some";
  }
#endif
  std::size_t methods = 1;
  std::size_t stops = 0;
  for (std::size_t at = 0; at < methods; ++at) {
    World world;
    std::unique_ptr<Subject> subject = GetParam().make(world);
    methods = subject->methods.size();
    const Method& method = subject->methods[at];
    bool is_first = true;
    std::set<std::string> found;
    world.os.run_held([&] { static_cast<void>(method.call()); },
                      [&] {
                        ++stops;
                        for (const bool calls : {true, false}) {
                          const os::Pid child = pretend::run_in_copy(
                              [&]() -> int { use_in_child(world, subject, calls); });
                          found.insert(meaning_of(pretend::exit_code_of(child), *subject));
                        }
                        if (std::exchange(is_first, false)) {
                          subject->end_wait();
                        }
                      });
    EXPECT_THAT(found, testing::ElementsAre("")) << "forked in " << method.name;
  }
  RecordProperty("stops", static_cast<int>(stops));
  EXPECT_GE(stops, methods);
}

std::string read_source(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const fs::path impl = fs::path(LASTREF_CHECKOUT) / "impl";

/// The public methods of a class in a header, without constructors and static functions.
std::set<std::string> public_methods(const std::string& header, const std::string& name) {
  std::istringstream lines(read_source(impl / "include/lastref" / header));
  const std::regex start("^class " + name + "\\b[^;]*\\{$");
  const std::regex method("^  (?!static |friend |using |///)\\S.*?[ &*](\\w+)\\(.*");
  std::set<std::string> found;
  bool is_inside = false;
  bool is_public = false;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, start)) {
      is_inside = true;
    } else if (line == "};") {
      is_inside = false;
    } else if (line.starts_with(" public") || line.starts_with(" private")) {
      is_public = line.starts_with(" public");
    }
    std::smatch match;
    if (is_inside && is_public && std::regex_match(line, match, method) && match[1] != name) {
      found.insert(match[1]);
    }
  }
  return found;
}

TEST_P(ForkedInside, every_public_method_is_in_the_table_E8) {
  std::set<std::string> declared;
  for (const auto& [name, header] : GetParam().classes) {
    const auto more = public_methods(header, name);
    EXPECT_FALSE(more.empty()) << name;
    declared.insert(more.begin(), more.end());
  }
  World world;
  std::set<std::string> called;
  const std::unique_ptr<Subject> subject = GetParam().make(world);
  for (const Method& method : subject->methods) {
    if (!method.name.starts_with('(')) {
      called.insert(method.name);
    }
  }
  EXPECT_EQ(called, declared);
}

/// A file of impl that threads share, and the objects above that cover it; or the reason why none
/// has to.
struct Meeting {
  std::string file;
  std::vector<std::string> objects;
  std::string reason = {};
};

const Meeting meetings[] = {
    {"array/array.cpp", {"Array", "WeakArrayKeyMap"}},
    {"backends/auto_batching.hpp", {"ProcessBackend", "ThreadingBackend"}},
    {"backends/backends.cpp", {"ThreadingBackend"}},
    {"backends/call.cpp", {"ParallelInProcesses", "ParallelInThreads", "ParallelInTurn"}},
    {"backends/parallel.cpp", {"ParallelInProcesses", "ParallelInThreads", "ParallelInTurn"}},
    {"backends/pool.cpp", {}, "a flag"},
    {"backends/pool_future.hpp", {"FutureOfProcesses", "FutureOfThreads"}},
    {"backends/pool_slot.hpp", {"ProcessBackend", "ThreadingBackend"}},
    {"backends/process_backend.cpp", {"ProcessBackend"}},
    {"backends/process_pool.cpp", {"ProcessBackend", "FutureOfProcesses"}},
    {"backends/task_pool.cpp", {}, "each method checks the process first: see pool_test"},
    {"backends/task_pool.hpp", {}, "each method checks the process first: see pool_test"},
    {"backends/thread_pool.cpp", {"ThreadingBackend", "FutureOfThreads"}},
    {"backends/thread_pool.hpp", {"ThreadingBackend"}},
    {"backends/typed_function.cpp", {}, "a list that static initialisation makes"},
    {"cache/entry_store.cpp", {}, "one for each process: see keyed_cache_test"},
    {"cache/file_cache.cpp", {"FileCache", "NaiveCache"}},
    {"cache/key_locks.hpp", {}, "one for each process: see keyed_cache_test"},
    {"cache/drain_guard.hpp", {"MultiprocessFileCache"}},
    {"cache/live_file.cpp", {"MultiprocessFileCache"}},
    {"cache/live_file.hpp", {"MultiprocessFileCache"}},
    {"cache/multiprocess_file_cache.cpp", {"MultiprocessFileCache"}},
    {"cache/cache_home.hpp", {"MultiprocessFileCache", "FileCache", "NaiveCache"}},
    {"include/lastref/kernel_os.hpp", {}, "makes monitors for all others"},
    {"include/lastref/os.hpp", {}, "makes monitors for all others; counts unread messages"},
    {"include/lastref/per_process.hpp", {"ForwardReducer", "Receiver", "WeakArrayKeyMap"}},
    {"include/lastref/references.hpp", {"ForwardReducer", "TemporaryResources"}},
    {"include/lastref/temporary_resources.hpp", {"TemporaryResources"}},
    {"include/lastref/tracker_client.hpp", {"Client"}},
    {"include/lastref/weak_array_key_map.hpp", {"WeakArrayKeyMap"}},
    {"os/kernel_os_exit.cpp", {}, "a flag"},
    {"os/kernel_os_exit.hpp", {}, "pthread_atfork holds it during a fork"},
    {"os/kernel_os_numbers.cpp", {}, "flags"},
    {"os/kernel_os_spawn.cpp", {}, "an answer that is looked for once"},
    {"os/kernel_os_threads.cpp", {}, "a flag; makes monitors for all others"},
    {"os/kernel_os_token.cpp", {}, "the word that a fork empties"},
    {"os/owners.cpp", {}, "a hook, of the process that set it"},
    {"os/process_objects.cpp", {"Session"}},
    {"include/lastref/process_objects.hpp", {"Session"}},
    {"os/atomic.hpp", {}, "each use of it is in this table"},
    {"os/shared_word.hpp", {"MultiprocessFileCache"}},
    {"reducers/reducers.cpp", {"ForwardReducer"}},
    {"reducers/receiver.cpp", {"Receiver", "BackwardReducer"}},
    {"resources/temporary_resources.cpp", {"TemporaryResources"}},
    {"tracker/client_state.cpp", {"Client"}},
    {"tracker/background_jobs.hpp",
     {},
     "the tracker's process runs nothing else and forks nothing"},
};

TEST(ForkedInside, every_place_where_threads_meet_is_in_the_table_E8) {
  const std::regex meeting(
      "make_monitor\\(\\)|\\bAtomic<|std::(mutex|recursive_mutex|shared_mutex|"
      "condition_variable|atomic|atomic_ref|atomic_flag)\\b");
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(impl)) {
    const std::string extension = entry.path().extension();
    if ((extension == ".cpp" || extension == ".hpp") &&
        std::regex_search(read_source(entry.path()), meeting)) {
      found.insert(entry.path().lexically_relative(impl));
    }
  }
  std::set<std::string> known;
  for (const Meeting& each : meetings) {
    known.insert(each.file);
    EXPECT_NE(each.objects.empty(), each.reason.empty()) << each.file;
    for (const std::string& object : each.objects) {
      EXPECT_TRUE(std::ranges::count(every_row(), object, &Row::object)) << object;
    }
  }
  EXPECT_EQ(known, found);
}

}  // namespace
}  // namespace lastref::forked
