// Board: the memory that the processes of an ungated run share: who lives, what was told, and who
// waits for it.
//
// Unlike the kernel world's there are no turns: all processes run at the same time, and any of them
// may be killed at any instant. What is on the board is changed under a lock that outlives its
// owner.
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

/// What the board knows of a process. One that is being born has no pid yet.
struct FreeProcess {
  os::Pid pid = 0;
  bool is_alive = false;
  bool is_stopped = false;
  bool has_ended = false;     ///< In good order; `exit_code` says how.
  bool is_sentenced = false;  ///< Somebody of the run, or the world, has sent it what kills it.
  int exit_code = 0;
  RoleText role;  ///< "tracker#2"
  RoleText base;  ///< "tracker"

  bool plays(std::string_view name) const noexcept { return base == name || role == name; }
};

class Board {
 public:
  /// A new one, under the number that processes of the run find it at.
  Board();
  /// That of the run which this executed process plays in.
  struct Inherited {};
  explicit Board(Inherited);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  static constexpr int descriptor = 404;
  static constexpr std::size_t processes_most = 64;

  /// As at the start. Nobody else is left.
  void reset();

  /// Its index; nothing where there is no room for more.
  std::optional<std::uint16_t> add_process(std::string_view role);
  /// By itself, before anything else. False if it was killed before it had one.
  bool set_pid(std::uint16_t process, os::Pid pid);
  /// In good order, or because it could not be started.
  void note_end(std::uint16_t process, int exit_code);
  void note_death(std::uint16_t process);
  /// Those that `act` is given, it may change. In the order of their births.
  void for_each_process(const std::function<void(std::uint16_t, FreeProcess&)>& act);
  RoleText role_of(std::uint16_t process);

  void tell(std::string_view signal);
  /// A wait of `process`. False when the world has let it down.
  bool await(std::uint16_t process, std::string_view signal);
  void send(std::string_view signal, std::string_view bytes);
  std::optional<std::string> mail(std::string_view signal);
  /// Tells one that waits that nobody is left who could tell. False if nobody waits.
  bool let_one_down();
  /// A thread of `process` waits up to a limit of time; then, that it does so no longer.
  void begin_timed_wait(std::uint16_t process) noexcept;
  void end_timed_wait(std::uint16_t process) noexcept;
  /// Whether a process that runs will continue by itself, because such a limit ends.
  bool has_timed_waits();
  /// Waits until something has changed since `seen`, or for a moment.
  std::uint32_t news() const noexcept;
  void wait_for_news(std::uint32_t seen) const noexcept;
  void make_news() noexcept;

  /// Something was killed that no scenario has killed.
  void disturb() noexcept;
  bool is_disturbed() const noexcept;
  /// Why the scenario cannot be run without gates; empty if it can.
  void leave_out(std::string_view why);
  std::string why_left_out();

  Journal& journal() noexcept { return journal_; }
  /// A record in the journal, of a process.
  void note(std::uint16_t process,
            RecordKind kind,
            std::string_view name,
            std::string_view text,
            std::int64_t value = 0,
            int error = 0) noexcept;

 private:
  struct Waiter;
  struct Shared;
  /// The lock, for as long as it lives.
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
