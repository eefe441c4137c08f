#include "harness/warden/process_names.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {

os::ChildExit exit_of(int wait_status) noexcept {
  const bool by_signal = WIFSIGNALED(wait_status);
  return {.code = by_signal ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status),
          .killed = by_signal};
}

ProcessNames::ProcessNames(int root) {
  add(root, "root");
}

ProcessSeen& ProcessNames::add(int process, std::string role) {
  if (const auto before = seen_.find(process); before != seen_.end()) {
    settle(before->second);  // Its number is used again.
  }
  seen_[process] = all_.size();
  if (may_tell_status_) {
    running_[all_.size()] = open_pidfd(process);
  }
  children_.erase(process);
  const auto mounts = link_at(fmt::format("/proc/{}/ns/mnt", process));
  const bool has_own_mounts = mounts && mounts_.insert(*mounts).second && mounts_.size() > 1;
  all_.push_back({.role = std::move(role),
                  .title = title_of(process),
                  .words = words_of(process),
                  .process = process,
                  .has_own_mounts = has_own_mounts,
                  .born = birth_of(process)});
  return all_.back();
}

void ProcessNames::settle(std::size_t at) {
  if (const auto running = running_.find(at); running != running_.end()) {
    all_[at].wait_status = status_of_reaped(running->second);
    running_.erase(running);
    may_tell_status_ = all_[at].wait_status.has_value();
  }
}

/// Whether the process was seen before, and is not another one that reuses its number.
bool ProcessNames::is_known(int process) {
  const auto at = seen_.find(process);
  if (at == seen_.end()) {
    return false;
  }
  const ProcessSeen& seen = all_[at->second];
  return !(seen.has_ended || seen.is_gone) || seen.born == birth_of(process);
}

/// The kernel lists them in order of creation. proc(5), children
void ProcessNames::number_children(int parent) {
  const auto known = seen_.find(parent);
  if (known == seen_.end()) {
    return;
  }
  const std::string& role = all_[known->second].role;
  const std::string above = role == "root" ? "child" : role;
  for (const int child : children_of(parent)) {
    if (!is_known(child)) {
      add(child, fmt::format("{}.{}", above, ++children_[parent]));
    }
  }
}

ProcessSeen* ProcessNames::of(int thread) {
  auto at = process_of_.find(thread);
  const bool is_new = at == process_of_.end();
  if (is_new) {
    const int its_process = number_of_status(thread, "Tgid");
    if (its_process <= 0) {
      return nullptr;
    }
    at = process_of_.emplace(thread, its_process).first;
  }
  const int process = at->second;
  if (!is_known(process)) {
    const int parent = number_of_status(process, "PPid");
    if (!seen_.contains(parent) && number_of_status(parent, "PPid") > 0) {
      number_children(number_of_status(parent, "PPid"));
    }
    number_children(parent);
  }
  if (!is_known(process)) {
    add(process, fmt::format("orphan.{}", ++orphans_));
  }
  ProcessSeen& seen = all_[seen_.at(process)];
  seen.threads += is_new ? 1U : 0U;
  if (std::exchange(seen.is_title_old, false)) {
    seen.title = title_of(process);
    seen.words = words_of(process);
  }
  return &seen;
}

void ProcessNames::forget_the_gone(std::uint64_t stops) {
  std::erase_if(process_of_, [](const auto& each) {
    return ::syscall(SYS_tgkill, each.second, each.first, 0) != 0 && errno == ESRCH;
  });
  for (const auto& [process, at] : seen_) {
    ProcessSeen& seen = all_[at];
    if (!seen.is_gone && ::kill(process, 0) != 0 && errno == ESRCH) {
      seen.is_gone = true;
      seen.gone_at_stop = stops;
      settle(at);
    }
  }
}

void ProcessNames::ends(int process) {
  number_children(process);
  std::erase_if(process_of_, [process](const auto& each) { return each.second == process; });
  if (const auto at = seen_.find(process); at != seen_.end()) {
    all_[at->second].has_ended = true;
  }
}

std::vector<ProcessSeen> ProcessNames::all() const {
  return {all_.begin(), all_.end()};
}

std::set<int> ProcessNames::ever() const {
  std::set<int> all;
  for (const ProcessSeen& each : all_) {
    all.insert(each.process);
  }
  return all;
}

std::string ProcessNames::role_of(int process) const {
  const auto at = seen_.find(process);
  return at == seen_.end() ? "a process" : all_[at->second].role;
}

}  // namespace lastref::harness::warden
