#include "harness/warden/roles_of_tree.hpp"

#include <utility>

#include <fmt/format.h>

#include "harness/kernel/patience.hpp"
#include "harness/warden/peek.hpp"

namespace lastref::harness::warden {

RolesOfTree::RolesOfTree(int root) {
  add(root, "root");
}

ProcessSeen& RolesOfTree::add(int process, std::string role) {
  order_.push_back(process);
  ProcessSeen& made = seen_[process];
  made = {.role = std::move(role), .title = title_of(process), .process = process};
  return made;
}

/// The kernel lists them in the order of their births. proc(5), children
void RolesOfTree::number_children(int parent) {
  const auto known = seen_.find(parent);
  if (known == seen_.end()) {
    return;
  }
  const std::string above =
      known->second.role == "root" ? "child" : std::string(known->second.role);
  for (const int child : children_of(parent)) {
    if (!seen_.contains(child)) {
      add(child, fmt::format("{}.{}", above, ++children_[parent]));
    }
  }
}

ProcessSeen& RolesOfTree::of(int thread) {
  auto at = process_of_.find(thread);
  if (at == process_of_.end()) {
    at = process_of_.emplace(thread, number_of_status(thread, "Tgid")).first;
  }
  const int process = at->second;
  if (!seen_.contains(process)) {
    const int parent = number_of_status(process, "PPid");
    if (!seen_.contains(parent) && number_of_status(parent, "PPid") > 0) {
      number_children(number_of_status(parent, "PPid"));
    }
    number_children(parent);
  }
  if (!seen_.contains(process)) {
    return add(process, fmt::format("orphan.{}", ++orphans_));
  }
  ProcessSeen& seen = seen_[process];
  if (std::exchange(seen.is_title_old, false)) {
    seen.title = title_of(process);
  }
  return seen;
}

void RolesOfTree::ends(int process) {
  number_children(process);
}

std::vector<ProcessSeen> RolesOfTree::all() const {
  std::vector<ProcessSeen> all;
  for (const int process : order_) {
    all.push_back(seen_.at(process));
  }
  return all;
}

}  // namespace lastref::harness::warden
