#include "harness/report/counts.hpp"

namespace lastref::harness {

std::string_view column_of(const Fault& fault) noexcept {
  if (is_allocation(fault.site)) {
    return fault.kind == FaultKind::fail_once ? "allocation_once" : "allocation_always";
  }
  return fault.whole_tree ? "kill_whole_tree" : name_of(fault.kind);
}

void Count::add(const Count& other) noexcept {
  total += other.total;
  executed += other.executed;
}

void MatrixCount::plan(const Fault& fault) {
  ++all.total;
  ++by_role[std::string(base_of(fault.site.role))].total;
  ++by_fault[std::string(column_of(fault))].total;
}

void MatrixCount::execute(const Fault& fault) {
  ++all.executed;
  ++by_role[std::string(base_of(fault.site.role))].executed;
  ++by_fault[std::string(column_of(fault))].executed;
}

void MatrixCount::add(const MatrixCount& other) {
  all.add(other.all);
  for (const auto& [role, count] : other.by_role) {
    by_role[role].add(count);
  }
  for (const auto& [fault, count] : other.by_fault) {
    by_fault[fault].add(count);
  }
}

}  // namespace lastref::harness
