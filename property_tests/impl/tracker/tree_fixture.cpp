#include "property_tests/impl/tracker/tree_fixture.hpp"

#include <utility>

#include "impl/tracker/ledger.hpp"

namespace lastref::pretend {

Director at_crossing(std::size_t n, Decision decision) {
  return [n, decision, crossed = std::size_t{0}](const Crossing&) mutable {
    return crossed++ == n ? decision : Decision{};
  };
}

Director at_crossing(std::size_t n, std::function<void()> happens) {
  return [n, happens = std::move(happens), crossed = std::size_t{0}](const Crossing&) mutable {
    if (crossed++ == n) {
      happens();
    }
    return Decision{};
  };
}

tracker::Swept TreeFixture::sweep() {
  PretendProcess sweeper(locks, ++last_pid_);
  const auto swept = tracker::sweep(sweeper, runtime());
  LASTREF_ASSERT(swept.has_value());
  LASTREF_ASSERT(sweeper.open_fds() == 0);
  return *swept;
}

tracker::TreePaths TreeFixture::dead_tree(const std::vector<Resource>& names) {
  PretendProcess root(locks, ++last_pid_);
  const auto tree = tracker::make_tree(root, runtime());
  LASTREF_ASSERT(tree.has_value());
  auto ledger = tracker::Ledger::open(root, tree->paths.ledger());
  LASTREF_ASSERT(ledger.has_value());
  for (const Resource& name : names) {
    LASTREF_ASSERT(ledger->enter(name).has_value());
  }
  root.die();
  return tree->paths;
}

bool TreeFixture::is_alive(const tracker::TreePaths& paths) {
  if (sweep().alive != 1) {
    return false;
  }
  os::KernelOs os;
  return os.status_at(paths.lock()).has_value() && os.status_at(paths.ledger()).has_value() &&
         os.status_at(paths.socket()).has_value();
}

void TreeFixture::clear() const {
  for (const std::string& name : folder.names()) {
    folder.remove(name);
  }
}

}  // namespace lastref::pretend
