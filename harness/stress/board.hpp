// Board: the memory that the processes of an ungated run share: which processes are alive, which
// signals were given, and which processes wait for one.
//
// Unlike the kernel world, it has no turns: all processes run at the same time, and any of them may
// be killed at any instant. The board is changed under a lock that survives its owner.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/os.hpp>

#include "harness/instrument/limits.hpp"
#include "harness/journal/journal.hpp"

namespace lastref::harness {

/// The board's record of a process. One that is being started has no pid yet.
struct FreeProcess {
  os::Pid pid = 0;
  bool is_alive = false;
  bool is_stopped = false;
  bool has_ended = false;     ///< In an orderly way; `exit_code` has the code.
  bool is_sentenced = false;  ///< A process of the run, or the world, has sent it a deadly signal.
  int exit_code = 0;
  RoleText role;  ///< "tracker#2"
  RoleText base;  ///< "tracker"

  bool plays(std::string_view name) const noexcept { return base == name || role == name; }
};

class Board {
 public:
  /// Creates a new one, at the descriptor where processes of the run find it.
  Board();
  /// The board of the run that this executed process belongs to.
  struct Inherited {};
  explicit Board(Inherited);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  static constexpr int descriptor = 404;
  static constexpr std::size_t processes_most = 64;

  /// Resets it to its initial state. No other process must be left.
  void reset();

  /// Returns its index; absent if there is no room for more.
  std::optional<std::uint16_t> add_process(std::string_view role);
  /// Called by the process itself, before anything else. False if it was killed before it had a
  /// pid.
  bool set_pid(std::uint16_t process, os::Pid pid);
  /// After an orderly end, or because it could not be started.
  void note_end(std::uint16_t process, int exit_code);
  void note_death(std::uint16_t process);
  /// Calls `act` for each process, which it may change, in the order of creation.
  void for_each_process(const std::function<void(std::uint16_t, FreeProcess&)>& act);
  RoleText role_of(std::uint16_t process);

  void tell(std::string_view signal);
  /// A wait of `process`. False when the world has cancelled it.
  bool await(std::uint16_t process, std::string_view signal);
  void send(std::string_view signal, std::string_view bytes);
  std::optional<std::string> mail(std::string_view signal);
  /// Cancels one wait, because no process is left that could give the signal. False if none waits.
  bool let_one_down();
  /// A thread of `process` waits with a time limit; the second call ends that.
  void begin_timed_wait(std::uint16_t process) noexcept;
  void end_timed_wait(std::uint16_t process) noexcept;
  /// Whether a running process will continue by itself, because such a limit expires.
  bool has_timed_waits();
  /// Waits until something has changed since `seen`, or for a short time.
  std::uint32_t news() const noexcept;
  void wait_for_news(std::uint32_t seen) const noexcept;
  void make_news() noexcept;

  /// The world, not a scenario, has killed a process.
  void disturb() noexcept;
  bool is_disturbed() const noexcept;
  /// Why the scenario cannot be run without gates; empty if it can.
  void leave_out(std::string_view why);
  std::string why_left_out();

  Journal& journal() noexcept { return journal_; }
  /// Adds a record of a process to the journal.
  void note(std::uint16_t process,
            RecordKind kind,
            std::string_view name,
            std::string_view text,
            std::int64_t value = 0,
            int error = 0) noexcept;

 private:
  struct Waiter;
  struct Shared;
  /// Holds the lock during its lifetime.
  class Held {
   public:
    explicit Held(Board& board) noexcept;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held();

   private:
    Board& board_;
  };

  static std::size_t size() noexcept;
  void wait_for_news(std::uint32_t seen, const timespec& most) const noexcept;

  SharedMemory memory_;
  Shared* shared_;
  Journal journal_;
};

}  // namespace lastref::harness
