#include "harness/warden/effects.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {

std::optional<std::string> Effects::name_at(const Notification& call, const NameAt& name) {
  auto path = path_at(call, name, other_roots_);
  // Many socket addresses have no name.
  unread_ += path || name.in_address ? 0U : 1U;
  return path;
}

std::string Effects::object_of(const Notification& call, const SyscallRow& row) {
  if (row.first.path >= 0) {
    return name_at(call, row.first).value_or("");
  }
  if (row.descriptor < 0) {
    return "";
  }
  const auto descriptor = call.arguments[static_cast<std::size_t>(row.descriptor)];
  return without_number(descriptor_at(call.thread, static_cast<int>(descriptor)));
}

void Effects::note(const Notification& call,
                   const SyscallRow& row,
                   const CallSeen& seen,
                   ProcessSeen& caller) {
  switch (row.effect) {
    case Effect::makes_sysv:
      sysv_.makes({.thread = call.thread,
                   .process = caller.process,
                   .kind = std::string(row.name.substr(0, 3)),
                   .key = static_cast<int>(call.arguments[0]),
                   .maker = fmt::format("{}/{}()#{}", seen.role, row.name, seen.k)});
      break;
    case Effect::moves_root:
      note_new_root(row, caller);
      break;
    case Effect::runs:
      caller.is_title_old = true;
      if (const auto rights = lost_rights_of(call, row)) {
        note_blind(fmt::format("{} runs {}, without its {} rights",
                               seen.role,
                               path_at(call, row.first, other_roots_).value_or(""),
                               *rights));
      }
      break;
    default:
      note_names(call, row, seen);
  }
}

void Effects::note_new_root(const SyscallRow& row, const ProcessSeen& caller) {
  other_roots_ = true;
  if (row.first.path < 0) {
    note_blind(fmt::format("{} ({}) calls {}: names in a mount namespace of its own",
                           caller.role,
                           caller.title,
                           row.name));
  }
}

void Effects::note_own_mounts(const ProcessSeen& process) {
  other_roots_ = true;
  note_blind(fmt::format(
      "{} ({}) is in another mount namespace than root: names in it", process.role, process.title));
}

void Effects::note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen) {
  const auto maker = [&] {
    return fmt::format("{}/{}({})#{}", seen.role, seen.call, pattern_of(seen.object), seen.k);
  };
  const auto argument = [&](int at) { return call.arguments[static_cast<std::size_t>(at)]; };
  if (row.effect == Effect::removes) {
    names_.removes(call.thread, seen.object);
    return;
  }
  if (row.effect == Effect::moves) {
    // After an exchange, both names still exist.
    const bool is_exchange = row.name == "renameat2" && (argument(4) & RENAME_EXCHANGE) != 0;
    const auto to = is_exchange ? std::nullopt : name_at(call, row.second);
    if (to) {
      names_.moves(call.thread, seen.object, *to, maker);
    }
    return;
  }
  if (row.effect == Effect::opens) {
    const std::uint64_t flags = open_flags_of(call, row);
    if ((flags & O_CREAT) == 0 || (flags & O_TMPFILE) == O_TMPFILE) {
      return;
    }
  } else if (row.effect != Effect::makes) {
    return;
  }
  const auto path = row.second.path >= 0 ? name_at(call, row.second) : std::optional(seen.object);
  if (path && !path->empty()) {
    names_.makes(call.thread, *path, maker);
  }
}

void Effects::note_blind(std::string what) {
  if (std::ranges::find(blind_, what) == blind_.end()) {
    blind_.push_back(std::move(what));
  }
}

std::vector<Leftover> Effects::leftovers() {
  std::vector<Leftover> all = names_.leftovers();
  std::ranges::move(sysv_.leftovers(), std::back_inserter(all));
  return all;
}

std::vector<Leftover> Effects::open_to_others() const {
  const mode_t ours = ::umask(0);
  ::umask(ours);
  return (ours & S_IWOTH) != 0 ? names_.open_to_others() : std::vector<Leftover>();
}

}  // namespace lastref::harness::warden
