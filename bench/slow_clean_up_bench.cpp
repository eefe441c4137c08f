// The cost of clean-up after a dead process per name, and how long other processes wait meanwhile.
// Both should not depend on the number of names.
//
// A child registers files, creates them and is killed. Until they are removed, the root repeatedly
// registers and forgets one name, and then as often again afterwards. For both periods, rows have
// the longest of these requests and the 99.9th percentile. They also have the tracker's processor
// time per name, and the wall time. On a busy machine the longest request shows other load: compare
// it with that of the idle period.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <benchmark/benchmark.h>

#include <lastref/owners.hpp>

#include "bench/tree.hpp"
#include "impl/tracker/link.hpp"
#include "impl/tracker/tree.hpp"

namespace {

using lastref::Resource;
using lastref::ResourceType;
namespace bench = lastref::bench;
namespace os = lastref::os;
namespace tracker = lastref::tracker;
using Clock = std::chrono::steady_clock;

constexpr std::size_t names_in_a_packet = 300;

std::string nth(const std::string& folder, std::size_t name) {
  const std::string digits = std::to_string(name);
  return folder + "/" + std::string(7 - digits.size(), '0') + digits;
}

bool answered(os::Os& os, tracker::Link& link) {
  tracker::Arrival arrival = link.receive();
  for (; arrival == tracker::Arrival::nothing; arrival = link.receive()) {
    std::array items{os::PollItem{.fd = link.fd(), .want_read = true}};
    static_cast<void>(os.poll(items, std::nullopt));
  }
  return arrival == tracker::Arrival::message && link.received().status == 0;
}

/// A process that joins the tree without a client, creates the files, reports the process ID of the
/// tracker, and waits to be killed.
[[noreturn]] void hold(const std::string& tree,
                       const std::string& folder,
                       std::size_t names,
                       int say) {
  os::KernelOs os;
  const auto membership = tracker::join_lock(os, {.folder = tree});
  const auto self = os.open_process(os.process_id());
  const auto socket = os.make_socket();
  if (!membership || !self || !socket || !os.connect(*socket, tracker::TreePaths{tree}.socket())) {
    ::_exit(1);
  }
  tracker::Link link(os, os::UniqueFd(os, *socket));
  link.post(tracker::encode_message(
                {.verb = tracker::Verb::announce, .id = membership->nonce, .entries = {}}),
            std::span(&*self, 1));
  bool done = answered(os, link);
  tracker::Message message{.verb = tracker::Verb::register_, .id = 2, .entries = {}};
  for (std::size_t name = 0; name < names; ++name) {
    const std::string path = nth(folder, name);
    message.entries.push_back({.resource = {.type = ResourceType::file, .name = path}});
    if (message.entries.size() == names_in_a_packet || name + 1 == names) {
      link.post(tracker::encode_message(message));
      done = answered(os, link) && done;
      message.entries.clear();
    }
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
  const auto byte =
      os.find_lock(membership->lock.get(), {.kind = os::LockKind::exclusive, .length = 1});
  const pid_t tracker = done && byte && *byte ? (*byte)->pid : 0;
  static_cast<void>(!::write(say, &tracker, sizeof tracker));
  for (;;) {
    ::pause();
  }
}

/// Seconds of processor time, summed over all threads.
double processor_time_of(pid_t process) {
  double nanoseconds = 0;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(tasks, error)) {
    std::ifstream file(thread.path() / "schedstat");
    double spent = 0;
    file >> spent;
    nanoseconds += spent;
  }
  return nanoseconds / 1e9;
}

/// The times of answers, in seconds.
class Answers {
 public:
  void ask(bench::Tree& tree, const Resource& other) {
    const auto asked = Clock::now();
    static_cast<void>(tree.client().register_name(other));
    all_.push_back(std::chrono::duration<double>(Clock::now() - asked).count());
    static_cast<void>(tree.client().forget(other));
  }
  std::size_t size() const noexcept { return all_.size(); }
  /// The quantile `part` of the times.
  double at(double part) {
    const auto last = static_cast<double>(all_.size() - 1);
    const auto nth = all_.begin() + static_cast<std::ptrdiff_t>(part * last);
    std::nth_element(all_.begin(), nth, all_.end());
    return *nth;
  }

 private:
  std::vector<double> all_;
};

void names_of_a_dead_process(benchmark::State& state) {
  const auto names = static_cast<std::size_t>(state.range(0));
  bench::Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const std::string folder = tree.file("/names").name;
  const Resource other = tree.file("/other.bin");
  Answers busy;
  Answers idle;
  double processor = 0;
  for (auto _ : state) {
    std::array<int, 2> ends{};
    if (::mkdir(folder.c_str(), 0700) != 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
      state.SkipWithError("no folder or no pipe");
      return;
    }
    const std::string led = tree.client().tree().value();
    const pid_t child = ::fork();
    if (child == 0) {
      hold(led, folder, names, ends[1]);
    }
    pid_t tracker = 0;
    static_cast<void>(!::read(ends[0], &tracker, sizeof tracker));
    const double before = processor_time_of(tracker);
    ::kill(child, SIGKILL);
    const auto began = Clock::now();
    while (::access(nth(folder, names - 1).c_str(), F_OK) == 0) {
      busy.ask(tree, other);
    }
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - began).count());
    processor += processor_time_of(tracker) - before;
    while (idle.size() < busy.size()) {
      idle.ask(tree, other);
    }
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    ::rmdir(folder.c_str());
  }
  const auto all = state.range(0) * static_cast<std::int64_t>(state.iterations());
  state.SetItemsProcessed(all);
  constexpr double rare = 0.999;
  state.counters["longest_register_us"] = busy.at(1) * 1e6;
  state.counters["longest_idle_us"] = idle.at(1) * 1e6;
  state.counters["rare_register_us"] = busy.at(rare) * 1e6;
  state.counters["rare_idle_us"] = idle.at(rare) * 1e6;
  state.counters["asked"] = static_cast<double>(busy.size());
  state.counters["processor_us_a_name"] = processor * 1e6 / static_cast<double>(all);
}
BENCHMARK(names_of_a_dead_process)->Arg(2000)->Arg(200'000)->UseManualTime();

}  // namespace
