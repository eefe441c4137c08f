// Launch: starts a program under a filter, and gets the listener at which its calls stop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <lastref/error.hpp>

#include "harness/warden/namespace_init.hpp"
#include "harness/warden/notifier.hpp"

namespace lastref::harness::warden {

/// A soft and hard limit of a process. getrlimit(2)
struct Limit {
  int resource = 0;
  std::uint64_t value = 0;
};

/// Parses "nofile=64", "fsize=1m"; the names are those of prlimit(1). invalid_argument lists the
/// known names.
Result<Limit> parse_limit(std::string_view text);

struct Start;

class Launch {
 public:
  Launch() noexcept;
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch();

  /// Starts a child of ours that waits until it may become the program. The child dies with the
  /// calling thread.
  Status start(std::vector<std::string> command,
               const Filter& filter,
               const std::vector<Limit>& limits,
               bool has_own_pids = false);
  int root() const noexcept { return root_; }
  /// The init process of its own pid namespace, if it has one.
  const NamespaceInit& init() const noexcept { return init_; }
  UniqueFd take_listener() noexcept { return std::move(listener_); }
  void go() noexcept;
  /// Why the child could not become the program, known when it has ended; 0: it could.
  int error() const noexcept;

 private:
  Status limit(const std::vector<Limit>& limits) const;

  Start* start_;
  NamespaceInit init_;
  int root_ = -1;
  UniqueFd listener_;
};

}  // namespace lastref::harness::warden
