// TreeFixture: a private runtime folder, and the processes that make, join and sweep trees in it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <lastref/resource.hpp>

#include "impl/tracker/tree.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::pretend {

using Director = std::function<Decision(const Crossing&)>;

/// `decision` at the n-th call from now, from 0, whichever call it is.
Director at_crossing(std::size_t n, Decision decision);
/// Runs `happens` before the n-th call.
Director at_crossing(std::size_t n, std::function<void()> happens);

class TreeFixture {
 public:
  /// Does not exist yet.
  std::string runtime() const { return folder.path("runtime"); }
  /// Sweeps in a process of its own, which must not fail nor keep anything open.
  tracker::Swept sweep();
  /// An orphaned tree with these names in its ledger.
  tracker::TreePaths dead_tree(const std::vector<Resource>& names = {});
  /// Whether a sweep finds it as the only live tree, with all its parts.
  bool is_alive(const tracker::TreePaths& paths);
  /// Removes everything.
  void clear() const;

  FreshFolder folder;
  RecordLocks locks;

 private:
  os::Pid last_pid_ = 1'000'000;
};

}  // namespace lastref::pretend
