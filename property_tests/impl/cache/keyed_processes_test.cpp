// keyed_processes_test: processes and threads that request the same keys, and processes that are
// killed while they compute or store. The program is also the processes.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/cache.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/probe.hpp>

#include "property_tests/impl/cache/forked.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/hooked_os.hpp"
#include "property_tests/support/shared_file.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::must;
using Numbers = Cache<int, std::vector<int>>;

constexpr std::string_view entry = "keyed_cache_user";
constexpr int keys = 12;
constexpr std::size_t threads = 3;

/// Memory of all processes.
struct Shared {
  std::atomic<int> ready;
  std::atomic<int> computed[keys];
};

std::vector<int> value_of(int key) {
  return std::vector<int>(static_cast<std::size_t>(1 + key * 300), key);
}

bool is_value(const Numbers::View& view, int key) {
  return std::ranges::equal(view, value_of(key));
}

/// Each thread requests all keys, in an order of its own.
bool request_all(Numbers& cache, Shared& shared, int first) {
  bool is_right = true;
  for (int at = 0; at < keys; ++at) {
    const int key = (at + at * first) % keys;
    const auto view = must(cache.get_or_compute(key, [&] {
      ++shared.computed[key];
      return value_of(key);
    }));
    is_right = is_right && is_value(view, key);
  }
  return is_right;
}

bool request_with_threads(Numbers& cache, Shared& shared, int number) {
  std::atomic<bool> is_right = true;
  std::vector<std::jthread> running;
  for (std::size_t at = 0; at < threads; ++at) {
    running.emplace_back([&, first = number + static_cast<int>(at)] {
      if (!request_all(cache, shared, first)) {
        is_right = false;
      }
    });
  }
  running.clear();
  return is_right;
}

/// The folder, the role and a number; 3 is the descriptor of the shared memory.
int be_user(std::span<const std::string> arguments) {
  os::KernelOs os;
  auto& shared =
      *reinterpret_cast<Shared*>(must(pretend::map_shared(os, os::Fd{3}, sizeof(Shared))).data());
  auto cache = must(Numbers::open(os, arguments[0]));
  const int number = std::stoi(arguments[2]);
  if (arguments[1] == "hang") {
    static_cast<void>(cache.get_or_compute(0, [&]() -> std::vector<int> {
      ++shared.computed[0];
      ++shared.ready;
      static_cast<void>(os.poll({}, std::nullopt));  // Until it is killed.
      return {};
    }));
    return 1;
  }
  ++shared.ready;
  return request_with_threads(cache, shared, number) ? 0 : 1;
}

class Users {
 public:
  ~Users() { folder_.remove("numbers"); }

  std::string path() const { return folder_.path("numbers"); }
  Shared& shared() { return *reinterpret_cast<Shared*>(file_.memory().data()); }
  os::Os& os() { return os_; }
  Numbers open() { return must(Numbers::open(os_, path())); }

  os::UniqueFd start(const std::string& role, int number) {
    const auto child = must(os_.spawn({.entry = std::string(entry),
                                       .arguments = {path(), role, std::to_string(number)},
                                       .fds = {{.here = file_.fd(), .number_there = 3}},
                                       .blocked = {}}));
    return {os_, child.process};
  }
  void wait_until_ready(int count) {
    while (shared().ready < count) {
      std::this_thread::yield();
    }
  }
  os::ChildExit end_of(const os::UniqueFd& process) {
    return must(pretend::wait_for(os_, process.get()));
  }

 private:
  os::KernelOs os_{{.program = "/proc/self/exe"}};
  pretend::FreshFolder folder_;
  pretend::SharedFile file_{os_, sizeof(Shared)};
};

TEST(KeyedCacheUsers, compute_each_value_once_L12) {
  Users users;
  auto cache = users.open();
  std::vector<os::UniqueFd> processes;
  for (int number = 1; number <= 3; ++number) {
    processes.push_back(users.start("request", number));
  }
  EXPECT_TRUE(request_with_threads(cache, users.shared(), 0));
  for (const os::UniqueFd& process : processes) {
    EXPECT_EQ(users.end_of(process).code, 0);
  }
  for (int key = 0; key < keys; ++key) {
    EXPECT_EQ(users.shared().computed[key], 1) << key;
  }
  EXPECT_EQ(cache.size(), keys);
}

TEST(KeyedCacheUsers, compute_what_a_killed_process_did_not_finish_L12) {
  Users users;
  const os::UniqueFd hanging = users.start("hang", 1);
  users.wait_until_ready(1);
  const os::UniqueFd waiting = users.start("request", 0);
  auto cache = users.open();
  EXPECT_FALSE(must(cache.contains(0)));
  must(users.os().signal_process(hanging.get(), os::Signal::kill));
  EXPECT_TRUE(users.end_of(hanging).killed);
  EXPECT_EQ(users.end_of(waiting).code, 0);
  EXPECT_EQ(users.shared().computed[0], 2);
  EXPECT_TRUE(is_value(*must(cache.get(0)), 0));
}

/// Counts the threads that wait for another thread of their process.
class WatchedOs final : public os::KernelOs {
 public:
  std::atomic<int> waiting = 0;

  void hit(Probe probe) noexcept override {
    waiting += probe == Probe::key_awaited_in_process ? 1 : 0;
  }
};

TEST(KeyedCacheUsers, of_one_folder_share_its_locks_in_a_process_L12) {
  constexpr int yields = 2000;  // Enough for a thread that does not wait to compute as well.
  Users users;
  WatchedOs os;
  auto first = must(Numbers::open(os, users.path()));
  auto second = must(Numbers::open(os, users.path()));
  std::atomic<int> computed = 0;
  std::jthread other;
  const auto view = must(first.get_or_compute(1, [&] {
    other = std::jthread([&] {
      const auto same = must(second.get_or_compute(1, [&] {
        ++computed;
        return std::vector<int>();
      }));
      EXPECT_TRUE(is_value(same, 1));
    });
    { auto third = must(Numbers::open(os, users.path())); }  // Closing it drops no lock.
    while (os.waiting == 0) {
      std::this_thread::yield();
    }
    for (int at = 0; at < yields && computed == 0; ++at) {
      std::this_thread::yield();
    }
    return value_of(1);
  }));
  other.join();
  EXPECT_TRUE(is_value(view, 1));
  EXPECT_EQ(computed, 0);
}

TEST(KeyedCacheUsers, that_were_forked_have_locks_of_their_own_L12) {
  Users users;
  auto cache = users.open();
  const auto view = cache.get_or_compute(1, [&] {
    const auto child = pretend::run_forked([&] {
      const bool is_free = is_value(must(cache.get_or_compute(2, [] { return value_of(2); })), 2);
      return is_free && must(cache.erase(2));
    });
    EXPECT_TRUE(child.said);
    return value_of(1);
  });
  EXPECT_TRUE(is_value(must(view), 1));
  EXPECT_EQ(cache.size(), 1);
}

/// All that changes a cache.
void change(os::Os& os, const std::string& path) {
  auto cache = must(Numbers::open(os, path, {.size_limit = 3000}));
  for (const int key : {0, 1, 0, 2}) {
    static_cast<void>(cache.get_or_compute(key, [&] { return value_of(key); }));
  }
  static_cast<void>(cache.erase(2));
  static_cast<void>(cache.put(3, {3}));
}

TEST(KeyedCacheUsers, that_are_killed_at_any_call_leave_a_whole_cache_L14) {
  for (const bool after : {false, true}) {
    for (std::size_t k = 0;; ++k) {
      SCOPED_TRACE("killed at call " + std::to_string(k));
      Users users;
      const auto end = pretend::run_forked([&] {
        pretend::HookedOs os;
        std::size_t crossed = 0;
        const auto count = [&] {
          if (crossed++ == k) {
            pretend::die();
          }
        };
        if (after) {
          os.after = [&](const pretend::Crossing&) { count(); };
        } else {
          os.before = [&](const pretend::Crossing&) {
            count();
            return pretend::Decision{};
          };
        }
        change(os, users.path());
        return true;
      });
      auto cache = users.open();
      std::size_t count = 0;
      for (const auto& [key, value] : cache) {
        EXPECT_TRUE(is_value(value, key) || (key == 3 && value.size() == 1)) << key;
        ++count;
      }
      EXPECT_EQ(cache.size(), count);
      EXPECT_TRUE(is_value(must(cache.get_or_compute(1, [] { return value_of(1); })), 1));
      if (!end.was_killed) {
        EXPECT_GT(k, 60);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace lastref

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() == 5 && words[1] == lastref::entry) {
    return lastref::be_user(std::span(words).subspan(2));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
