// DeadlockResolver: the actions that are tried when no thread of a run can continue, the same in
// every world.
#pragma once

namespace lastref::harness {

class DeadlockResolver {
 public:
  DeadlockResolver() = default;
  DeadlockResolver(const DeadlockResolver&) = delete;
  DeadlockResolver& operator=(const DeadlockResolver&) = delete;
  virtual ~DeadlockResolver() = default;

  /// Makes a thread able to continue, by the mildest possible means. False: the run hangs.
  bool resolve() {
    return (has_moved() && ask_tracker()) || let_doomed_go() || fail_one_waiter() ||
           let_stopped_go();
  }

 private:
  /// Whether anything has happened since the tracker was last asked.
  virtual bool has_moved() = 0;
  /// Asks the tracker for its counts. True if a thread can continue because of that.
  virtual bool ask_tracker() = 0;
  /// Threads that are to die in a waiting call die.
  virtual bool let_doomed_go() = 0;
  /// Makes one thread that awaits a signal return false, because the signal cannot come.
  virtual bool fail_one_waiter() = 0;
  virtual bool let_stopped_go() = 0;
};

}  // namespace lastref::harness
