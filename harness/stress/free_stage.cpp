#include "harness/stress/free_stage.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <utility>

#include "harness/kernel/inherited.hpp"
#include "harness/kernel/patience.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

/// At this moment, not only when the world next checks.
bool lives(os::Pid pid) noexcept {
  return !is_dead(pid, std::chrono::milliseconds(0));
}

}  // namespace

bool FreeLimits::storage(std::uint64_t /*bytes*/, std::uint64_t /*inodes*/) {
  board_.leave_out("it limits storage");
  return false;
}

bool FreeLimits::copying_storage(std::uint64_t /*bytes*/) {
  board_.leave_out("it limits storage");
  return false;
}

bool FreeLimits::descriptors(const std::string& /*role*/, int /*more*/) {
  board_.leave_out("it limits descriptors");
  return false;
}

void FreeLimits::file_size(std::uint64_t /*bytes*/) {
  board_.leave_out("it limits the size of files");
}

bool FreeLimits::obey_modes() {
  board_.leave_out("permission bits have to count");
  return false;
}

FreeStage::FreeStage(const FreeContext& context,
                     FreeOs& os,
                     std::uint16_t process,
                     std::string role,
                     std::span<const std::string> arguments)
    : Stage({.os = os,
             .role = std::move(role),
             .arguments = arguments,
             .folder = context.files,
             .spare_folder = context.spare},
            *this),
      board_(context.board),
      os_(os),
      process_(process),
      outside_({.files = context.files,
                .has_walls = true,
                .is_read = false,
                .note_writing =
                    [this](const std::string& path) {
                      board_.note(process_, RecordKind::fact, fact::outside, path);
                    }}),
      limits_(context.board),
      blocked_(blocked_signals()) {}

Status FreeStage::start(const std::string& role) {
  LASTREF_TRY(tree, tree_to_join());
  LASTREF_TRY(
      child,
      os_.spawn(
          {.entry = role, .arguments = {tree}, .fds = {}, .blocked = {}, .end_wanted = false}));
  return os_.close(child.process);
}

bool FreeStage::await(const std::string& signal) {
  return board_.await(process_, signal);
}

Result<std::string> FreeStage::receive(const std::string& signal) {
  board_.await(process_, signal);
  std::optional<std::string> bytes = board_.mail(signal);
  return bytes ? Result<std::string>(*std::move(bytes)) : nobody_left(signal);
}

/// Returns when it is stopped. The board is locked until then, so that the process is not stopped
/// while it has the lock: no process could continue.
void FreeStage::stop(const std::string& role) {
  board_.for_each_process([&](std::uint16_t at, FreeProcess& each) {
    if (each.is_alive && each.pid > 0 && at != process_ && each.plays(role)) {
      each.is_stopped = true;
      ::kill(each.pid, SIGSTOP);
      while (!is_stopped(each.pid)) {
        ::poll(nullptr, 0, 1);
      }
    }
  });
}

bool FreeStage::resume(const std::string& role) {
  bool any = false;
  board_.for_each_process([&](std::uint16_t /*at*/, FreeProcess& each) {
    if (each.is_alive && each.is_stopped && each.plays(role)) {
      any = true;
      each.is_stopped = false;
      ::kill(each.pid, SIGCONT);
    }
  });
  return any;
}

void FreeStage::kill(const std::string& role) {
  board_.for_each_process([&](std::uint16_t /*at*/, FreeProcess& each) {
    if (each.is_alive && each.plays(role)) {
      each.is_sentenced = true;  // Without a pid yet, it ends when it registers one.
      if (each.pid > 0) {
        ::kill(each.pid, SIGKILL);
      }
    }
  });
  // Processes started in their place meanwhile are not affected. But a helper that starts a process
  // has copies of its parent's descriptors. What they lock is not free until the helper has exited.
  while (is_anybody_dying() || is_anybody_being_born()) {
    board_.wait_for_news(board_.news());
  }
}

bool FreeStage::is_anybody_dying() {
  bool any = false;
  board_.for_each_process([&](std::uint16_t /*at*/, const FreeProcess& each) {
    any = any || (each.is_alive && each.is_sentenced && each.pid > 0 && lives(each.pid));
  });
  return any;
}

/// Whether there is a process that neither belongs to the world nor is on the board.
bool FreeStage::is_anybody_being_born() {
  std::set<os::Pid> known = {1};
  board_.for_each_process(
      [&](std::uint16_t /*at*/, const FreeProcess& each) { known.insert(each.pid); });
  return std::ranges::any_of(numbers_in("/proc"),
                             [&known](os::Pid pid) { return !known.contains(pid) && lives(pid); });
}

void FreeStage::interrupt_all() {
  board_.leave_out("it interrupts all processes");
}

void FreeStage::work_in(const std::string& folder) {
  const int done = ::chdir(folder.c_str());
  LASTREF_ASSERT(done == 0);
}

bool FreeStage::hears_signals() const noexcept {
  return (blocked_signals() & ~blocked_) == 0;
}

std::uint64_t FreeStage::mapped() {
  board_.leave_out("it asks how much is mapped");
  return 0;
}

std::size_t FreeStage::processes(const std::string& role) {
  // A process that was killed before it had a pid stays on the board until the run is over.
  const bool is_any_born = is_anybody_being_born();
  std::size_t number = 0;
  board_.for_each_process([&](std::uint16_t /*at*/, const FreeProcess& each) {
    const bool is_there = each.pid == 0 ? is_any_born : lives(each.pid);
    const bool counts = each.is_alive && each.plays(role) && is_there;
    number += counts ? 1U : 0U;
  });
  return number;
}

bool FreeStage::fork_stranger(std::function<Status()> /*body*/) {
  board_.leave_out("it forks, and copies of threaded processes bear no threads under TSan");
  return false;
}

void FreeStage::refute(const std::string& claim, const std::string& seen) {
  board_.note(process_, RecordKind::fact, fact::refuted, claim);
  board_.note(process_, RecordKind::fact, fact::seen, seen);
}

void FreeStage::note(std::string_view operation, const std::string& text, bool begins, int error) {
  board_.note(process_,
              begins ? RecordKind::operation_begin : RecordKind::operation_end,
              operation,
              text,
              0,
              error);
}

}  // namespace lastref::harness
