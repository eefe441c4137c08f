#include "harness/oracle/holdings.hpp"

#include <algorithm>
#include <cerrno>

namespace lastref::harness::oracle {

Holdings::Lifetime& Holdings::life(std::uint16_t process) {
  if (process >= lives_.size()) {
    lives_.resize(process + std::size_t{1});
  }
  return lives_[process];
}

bool Holdings::is_alive(std::uint16_t process) const noexcept {
  return process < lives_.size() && lives_[process].alive;
}

std::string Holdings::role_of(std::uint16_t process) const {
  return process < lives_.size() ? std::string(lives_[process].role) : "?";
}

std::string_view Holdings::name_of(std::uint16_t process, std::string_view counted) const noexcept {
  if (counts_.contains({process, counted})) {
    return counted;
  }
  const auto same = [&](const auto& each) {
    const std::string_view taken = each.first.second;
    const std::size_t colon = taken.find(':');
    return each.first.first == process && colon != std::string_view::npos &&
           taken.substr(colon + 1, 1) != "/" && counted.starts_with(taken.substr(0, colon + 1)) &&
           counted.ends_with(std::string("/").append(taken.substr(colon + 1)));
  };
  const auto found = std::ranges::find_if(counts_, same);
  return found == counts_.end() ? counted : found->first.second;
}

std::optional<std::uint16_t> Holdings::process_of(os::Pid pid) const noexcept {
  for (std::size_t at = lives_.size(); at > 0; --at) {
    if (lives_[at - 1].pid == pid) {
      return static_cast<std::uint16_t>(at - 1);
    }
  }
  return std::nullopt;
}

void Holdings::read(const Record& record) {
  switch (record.kind) {
    case RecordKind::fact:
      read_fact(record);
      break;
    case RecordKind::operation_begin:
    case RecordKind::operation_end:
      read_operation(record);
      break;
    case RecordKind::end:
      if (gives_up_lock(record)) {
        drop_all(record.process, /*certainly=*/false);
      }
      return;
    case RecordKind::begin:
      return;
  }
  note_lost_ground();
}

bool Holdings::is_held(std::string_view resource) const {
  return std::ranges::any_of(counts_, [&](const auto& each) {
    return each.first.second == resource && each.second.least > 0;
  });
}

bool Holdings::was_anything_held() const noexcept {
  return was_held_ ||
         std::ranges::any_of(counts_, [](const auto& each) { return each.second.most > 0; });
}

void Holdings::all_heard() noexcept {
  posted_.clear();
  std::erase_if(forgetting_, [](const auto& each) { return each.second.is_posthumous; });
}

Range Holdings::count_at_once(const Key& key) const {
  const auto counted = counts_.find(key);
  Range range = counted == counts_.end() ? Range() : counted->second;
  if (const auto posted = posted_.find(key); posted != posted_.end()) {
    range.most += posted->second;
  }
  if (const auto unread = unread_.find(key); unread != unread_.end()) {
    range.most += unread->second;
  }
  return range;
}

/// The process has an answer, so its earlier messages were received; or it sends no more.
void Holdings::heard(std::uint16_t process) {
  for (auto* sent : {&posted_, &unread_}) {
    std::erase_if(*sent, [&](const auto& each) { return each.first.first == process; });
  }
}

void Holdings::note_lost_ground() {
  for (auto& [key, founded] : founded_) {
    founded = founded && is_held(key.second);
  }
}

void Holdings::read_fact(const Record& record) {
  if (record.name == fact::born) {
    life(record.process) = {
        .pid = static_cast<os::Pid>(record.value), .alive = true, .role = record.role.view()};
  } else if (record.name == fact::died) {
    life(record.process).alive = false;
    drop_all(record.process, /*certainly=*/true);
  }
}

void Holdings::read_operation(const Record& record) {
  const Key key{record.process, record.text.view()};
  if (record.name == "register" || record.name == "hold") {
    take(key, record);
  } else if (record.name == "release") {
    let_go(key, record);
  } else if (record.name == "forget") {
    forget(key, record);
  } else if (record.name == "leave") {
    drop_all(record.process, record.kind == RecordKind::operation_end);
  }
}

void Holdings::take(const Key& key, const Record& record) {
  Range& range = counts_[key];
  for (auto& [each, forgetting] : forgetting_) {
    if (forgetting.resource == key.second) {
      forgetting.raced = true;
      raced_takings_.insert(key);
    }
  }
  if (record.kind == RecordKind::operation_begin) {
    ++taking_[key];
    ++range.most;
    if (record.name == "hold") {
      founded_[key] = true;
    }
    return;
  }
  --taking_[key];
  const bool is_raced = raced_takings_.contains(key);
  if (taking_[key] == 0) {
    raced_takings_.erase(key);
  }
  const auto hold = founded_.find(key);
  const bool founded = record.name != "hold" || hold == founded_.end() || hold->second;
  if (hold != founded_.end()) {
    founded_.erase(hold);
  }
  if (record.error == 0 && record.name == "register") {
    heard(key.first);
  }
  if (record.error == 0) {
    was_held_ = true;
    range.least += founded && !is_raced ? 1 : 0;
    unfounded_[key] += founded ? 0 : 1;
    range.most = std::max(range.most, range.least);
  } else {
    // An error means that nothing was counted.
    range.most = std::max(range.most - 1, range.least);
    unread_[key] += record.error == ENOMEM ? 1 : 0;
  }
}

void Holdings::let_go(const Key& key, const Record& record) {
  Range& range = counts_[key];
  if (record.kind == RecordKind::operation_begin) {
    range.least = std::max<std::int64_t>(range.least - 1, 0);
  } else if (record.error == 0) {
    posted_[key] += range.most > range.least ? 1 : 0;
    range.most = std::max(range.most - 1, range.least);
    unfounded_[key] = std::min(unfounded_[key], range.most);
  }
}

void Holdings::forget(const Key& key, const Record& record) {
  if (record.kind == RecordKind::operation_begin) {
    bool raced = false;
    for (const auto& [taken, count] : taking_) {
      if (count > 0 && taken.second == key.second) {
        raced = true;
        raced_takings_.insert(taken);
      }
    }
    forgetting_[{key, record.actor}] = {.resource = key.second, .raced = raced};
  }
  const bool certainly = record.kind == RecordKind::operation_end && record.error == 0 &&
                         !forgetting_[{key, record.actor}].raced;
  if (record.kind == RecordKind::operation_end && record.error == 0) {
    heard(key.first);
  }
  for (auto& [of, range] : counts_) {
    if (of.second == key.second) {
      range.least = 0;
      if (certainly && of.first == key.first) {
        unfounded_.erase(of);
      }
      range.most = certainly ? unfounded_[of] : range.most;
    }
  }
  if (record.kind == RecordKind::operation_end) {
    forgetting_.erase({key, record.actor});
  }
}

void Holdings::drop_all(std::uint16_t process, bool certainly) {
  for (auto& [of, range] : counts_) {
    if (of.first == process) {
      range.least = 0;
      range.most = certainly ? 0 : range.most;
    }
  }
  if (certainly) {
    heard(process);
    std::erase_if(unfounded_, [&](const auto& each) { return each.first.first == process; });
    std::erase_if(taking_, [&](const auto& each) { return each.first.first == process; });
    for (auto& [key, forgetting] : forgetting_) {
      forgetting.is_posthumous = forgetting.is_posthumous || key.first.first == process;
    }
  }
}

}  // namespace lastref::harness::oracle
