// Standstill: what can be done when nobody of a run can go on, the same in every world.
#pragma once

namespace lastref::harness {

class Standstill {
 public:
  Standstill() = default;
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;
  virtual ~Standstill() = default;

  /// Lets somebody go on, by the mildest means that there is. False: it is a hang.
  bool resolve();

 private:
  /// Whether anything has happened since the tracker was asked last.
  virtual bool has_moved() = 0;
  /// Asks the tracker what it counts. True if somebody may go on now because of that.
  virtual bool ask_tracker() = 0;
  /// Whoever is to die in a call that waits does so.
  virtual bool let_doomed_go() = 0;
  /// Tells one of those who await a signal that nobody will give it.
  virtual bool let_down_one_who_awaits() = 0;
  virtual bool let_stopped_go() = 0;
};

}  // namespace lastref::harness
