#include "harness/oracle/operations.hpp"

#include <algorithm>
#include <iterator>

namespace lastref::harness::oracle {
namespace {

const Operations::Names none;

/// Not always the innermost: another thread may have begun an operation since.
void end_last(Operations::Names& open, std::string_view name) {
  const auto last = std::ranges::find(open.rbegin(), open.rend(), name);
  if (last != open.rend()) {
    open.erase(std::next(last).base());
  }
}

}  // namespace

std::string_view leader_in(const Evidence& evidence) {
  constexpr std::string_view usual = "root";
  std::string_view leader = usual;
  for (const Record& record : evidence.notable()) {
    if (record.kind != RecordKind::operation_begin || record.name != "lead") {
      continue;
    }
    if (record.role == usual) {
      return usual;
    }
    leader = leader == usual ? record.role.view() : leader;
  }
  return leader;
}

bool is_last(std::string_view operation) noexcept {
  return operation == "leave" || operation == "end";
}

void Operations::read(const Record& record) {
  if (record.kind != RecordKind::fact) {
    if (record.process >= first_actor_.size()) {
      first_actor_.resize(record.process + std::size_t{1}, -1);
    }
    std::int32_t& first = first_actor_[record.process];
    first = first < 0 ? record.actor : first;
  }
  if (record.kind == RecordKind::operation_begin) {
    open_[record.process].push_back(record.name.view());
    open_of_thread_[{record.process, record.actor}].push_back(record.name.view());
  } else if (record.kind == RecordKind::operation_end) {
    end_last(open_[record.process], record.name.view());
    end_last(open_of_thread_[{record.process, record.actor}], record.name.view());
  }
}

const Operations::Names& Operations::of_thread(const Record& record) const {
  const auto found = open_of_thread_.find({record.process, record.actor});
  return found == open_of_thread_.end() ? none : found->second;
}

const Operations::Names& Operations::of_process(const Record& record) const {
  const auto found = open_.find(record.process);
  return found == open_.end() ? none : found->second;
}

bool Operations::is_own(const Record& record) const {
  const std::int32_t first =
      record.process < first_actor_.size() ? first_actor_[record.process] : -1;
  return !is_tracker(record) && of_process(record).empty() && (first < 0 || first == record.actor);
}

}  // namespace lastref::harness::oracle
