// Worlds: the worlds that a verb needs, started before anything else.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/campaign_results.hpp"
#include "harness/scenario/world.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {

/// Of each simulated world of a verb.
inline const SimOptions sim_options_of_verbs = {.late_words = true, .arena = true};

class Worlds {
 public:
  /// Searches the raw arguments of the command line for the worlds wanted: a fork server is forked
  /// before there are threads, and before the parsing of options makes the heap grow. Invalid
  /// arguments are left for the parser to refuse.
  static Worlds start(std::span<const char* const> arguments);

  std::span<World* const> all() const noexcept { return all_; }
  World* first() const noexcept { return all_.empty() ? nullptr : all_.front(); }
  /// "kernel" or "sim": all are of one kind.
  std::string_view kind() const noexcept { return kind_; }
  /// Features that this machine does not permit; empty when nothing is missing.
  const std::string& degraded() const noexcept { return degraded_; }
  /// False when it cannot run at all.
  bool available() const noexcept { return available_; }
  std::vector<WorldReport> report() const;
  /// Trees of four processes per second without a harness; measured for the gate in the kernel
  /// world.
  std::optional<double> bare_loops() const noexcept { return bare_loops_; }

 private:
  std::vector<std::unique_ptr<World>> owned_;
  std::vector<World*> all_;
  std::string kind_ = "kernel";
  std::string degraded_;
  bool available_ = true;
  std::optional<double> bare_loops_;
};

}  // namespace lastref::harness
