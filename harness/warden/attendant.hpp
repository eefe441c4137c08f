// Attendant: gives a server its work. A process beside the watched tree runs commands of the
// user's: one until it succeeds, as the server is ready then, and another one in rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lastref/error.hpp>

#include "harness/warden/user_command.hpp"

namespace lastref::harness::warden {

struct ServerWork {
  std::string ready = {};  ///< A command that fails until the server is ready; empty: it is
  std::string work = {};   ///< One round; empty: there are none
  std::uint64_t rounds = 1;

  bool is_wanted() const noexcept { return !ready.empty() || !work.empty(); }
};

class Attendant {
 public:
  enum class Says : std::uint8_t {
    nothing,
    round_is_over,  ///< It waits for go_on().
    all_is_done,    ///< Or a command has failed.
  };

  Attendant() noexcept = default;
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;
  /// Ends it, with the command that it runs.
  ~Attendant();

  /// A child of ours, whose children do not become ours.
  Status start(const ServerWork& work);
  bool is_there() const noexcept { return process_ > 0; }
  int process() const noexcept { return process_; }
  /// Whether the server was ready; false: it has not got so far.
  bool is_ready() const noexcept { return is_ready_; }
  bool is_done() const noexcept { return is_done_; }
  /// Does not wait.
  Says hear();
  void go_on() noexcept;
  /// The command that failed.
  const std::optional<CommandFailure>& failure() const noexcept { return failure_; }

 private:
  int process_ = -1;
  int socket_ = -1;
  bool is_ready_ = false;
  bool is_done_ = false;
  std::optional<CommandFailure> failure_;
};

}  // namespace lastref::harness::warden
