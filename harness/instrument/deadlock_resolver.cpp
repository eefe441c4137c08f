#include "harness/instrument/deadlock_resolver.hpp"

namespace lastref::harness {

bool DeadlockResolver::resolve() {
  return (has_moved() && ask_tracker()) || let_doomed_go() || fail_one_waiter() || let_stopped_go();
}

}  // namespace lastref::harness
