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

/// `decision` at the n-th crossing from now, from 0, whatever it is.
Director at_crossing(std::size_t n, Decision decision);
/// Something that happens before the n-th crossing.
Director at_crossing(std::size_t n, std::function<void()> happens);

class TreeFixture {
 public:
  /// Does not exist yet.
  std::string runtime() const { return folder.path("runtime"); }
  /// By a process of its own, which must not fail nor keep anything open.
  tracker::Swept sweep();
  /// A tree of a process that is dead, with these names in its ledger.
  tracker::TreePaths dead_tree(const std::vector<Resource>& names = {});
  /// Whether it is the only live tree, as a sweep sees it, with its every part.
  bool is_alive(const tracker::TreePaths& paths);
  /// Removes everything.
  void clear() const;

  FreshFolder folder;
  RecordLocks locks;

 private:
  os::Pid last_pid_ = 1'000'000;
};

}  // namespace lastref::pretend
