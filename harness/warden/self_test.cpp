#include "harness/warden/self_test.hpp"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "harness/warden/capabilities.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::harness::warden {
namespace {

namespace fs = std::filesystem;

constexpr os::ChildExit by_sigkill = {.code = SIGKILL, .killed = true};
/// No call returns this error by itself.
constexpr int unheard_of = EXFULL;

/// A new folder with what the calls need; removed by the destructor.
class Folder {
 public:
  Folder() {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "lastref-calls-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) {
      path_.clear();
      return;
    }
    std::ofstream(path_ + "/there") << "what is there";
    std::ofstream(path_ + "/file") << "what is in it";
    fs::create_directory(path_ + "/folder", error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }

  const std::string& path() const { return path_; }
  std::set<std::string> names() const {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& each : fs::directory_iterator(path_, error)) {
      names.insert(each.path().filename());
    }
    return names;
  }

 private:
  std::string path_;
};

void remove_sysv(const std::string& name) {
  const int id = std::atoi(name.c_str() + 4);
  if (name.starts_with("shm")) {
    ::shmctl(id, IPC_RMID, nullptr);
  } else if (name.starts_with("sem")) {
    ::semctl(id, 0, IPC_RMID);
  } else {
    ::msgctl(id, IPC_RMID, nullptr);
  }
}

/// The result of a run.
struct Seen {
  Watched watched;
  bool has_changed = false;  ///< The names in the folder differ from those before.
};

class CallTest {
 public:
  CallTest(const std::string& program, const SyscallRow& row) : program_(program), row_(row) {
    fault_.role = "root";
    fault_.call = row.name;
  }

  std::vector<std::string> complaints() {
    // A frequent call stops only if a fault refers to it; this fault is never applied.
    const Seen clean = run_with(FaultKind::kill_before, 1'000'000);
    expect(clean, os::ChildExit{}, "made");
    // The start of the program makes other calls of this kind.
    k_ = static_cast<std::uint64_t>(
        std::ranges::count(clean.watched.calls, row_.name, &CallSeen::call));
    if (k_ == 0) {
      complain("made", "it was not seen");
      return std::move(complaints_);
    }
    if (row_.effect == Effect::makes &&
        (clean.watched.leftovers.size() != 1 || !clean.has_changed)) {
      complain("made", "the name that it created was not seen");
    }
    const Seen killed = run_with(FaultKind::kill_before, k_);
    expect(killed, by_sigkill, "killed before it");
    expect_change(killed, /*change=*/false, "killed before it");
    if (row_.effect == Effect::ends) {
      return std::move(complaints_);
    }
    const Seen after = run_with(FaultKind::kill_after, k_);
    expect(after, by_sigkill, "killed after it");
    expect_change(after, clean.has_changed, "killed after it");
    const Seen failed = run_with(FaultKind::fail_once, k_);
    expect(failed, {.code = unheard_of, .killed = false}, "made to fail");
    expect_change(failed, /*change=*/false, "made to fail");
    return std::move(complaints_);
  }

 private:
  Seen run_with(FaultKind kind, std::uint64_t k) {
    const Folder folder;
    fault_.k = fault_.last = k;
    fault_.action = {.kind = kind, .error = takes_error(kind) ? unheard_of : 0};
    WatchOptions options{.command = {program_, std::string(row_.name), folder.path()}};
    options.faults = {fault_};
    options.takes_unlikely = true;
    options.wants_calls = true;
    const auto before = folder.names();
    auto watched = watch(options);
    Seen seen{.watched = watched.value_or(Watched{}), .has_changed = folder.names() != before};
    if (!watched) {
      complain("started", describe(watched.error()));
    }
    for (const Leftover& each : seen.watched.leftovers) {
      if (each.kind == "System V") {
        remove_sysv(each.path);
      }
    }
    return seen;
  }

  void expect(const Seen& seen, os::ChildExit root, std::string_view when) {
    if (seen.watched.root != root) {
      complain(
          when,
          fmt::format(
              "root: {} {}", seen.watched.root.killed ? "signal" : "exit", seen.watched.root.code));
    }
    if (seen.watched.perturbed > 0) {
      complain(when, "perturbed");
    }
  }
  void expect_change(const Seen& seen, bool change, std::string_view when) {
    if (seen.has_changed != change) {
      complain(when, change ? "it has done nothing" : "it has done something");
    }
    if (seen.watched.struck != std::vector{true}) {
      complain(when, "the fault did not strike");
    }
  }
  void complain(std::string_view when, std::string_view what) {
    complaints_.push_back(fmt::format("{}: {}: {}", row_.name, when, what));
  }

  const std::string& program_;
  const SyscallRow& row_;
  TreeFault fault_;
  std::uint64_t k_ = 0;
  std::vector<std::string> complaints_;
};

std::string program_beside_us() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "warden_calls").string();
}

}  // namespace

SelfTest self_test(std::string program) {
  SelfTest test;
  if (!watches_here()) {
    test.impossible = "nothing can be watched here; see lastref run --doctor";
    return test;
  }
  if (program.empty()) {
    program = program_beside_us();
  }
  for (const SyscallRow& row : syscalls()) {
    ++test.calls;
    for (std::string& complaint : CallTest(program, row).complaints()) {
      test.complaints.push_back(std::move(complaint));
    }
  }
  return test;
}

}  // namespace lastref::harness::warden
