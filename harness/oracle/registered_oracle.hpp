// RegisteredOracle: adds an oracle to those that judge each run of the programs that its file is
// linked into. An oracle is a pure function that returns its findings and what it has checked; the
// claim of a finding starts with the name of the oracle. Defined once in the oracle's file:
//
//     const RegisteredOracle registered_no_hang("no-hang", Concern::run, no_hang);
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// The subject of an oracle. Oracles run and are reported in this order, so that the cause of a
/// violation stands before its consequences; those of one concern by name.
enum class Concern : std::uint8_t {
  scenario,    ///< What the scenario itself checks.
  run,         ///< It ends, and no process crashes.
  references,  ///< The counts of the tracker.
  leftovers,   ///< Names, descriptors and processes that remain.
  contents,    ///< Bytes in files and answers of caches.
  conduct,     ///< Errors, messages, modes, syncs.
  results,     ///< A comparison with clean runs.
};

/// What an oracle judges.
enum class Judges : std::uint8_t {
  scenarios,
  programs,  ///< Scenarios, and programs that `lastref run` watches.
};

class RegisteredOracle {
 public:
  using Judge = Judgement (*)(const Evidence& evidence);

  RegisteredOracle(std::string_view name,
                   Concern concern,
                   Judge function,
                   Judges judges = Judges::scenarios) noexcept
      : name_(name), concern_(concern), judge_(function), judges_(judges), next_(last_) {
    last_ = this;
  }
  RegisteredOracle(const RegisteredOracle&) = delete;
  RegisteredOracle& operator=(const RegisteredOracle&) = delete;
  ~RegisteredOracle() = default;

  std::string_view name() const noexcept { return name_; }
  bool judges_programs() const noexcept { return judges_ == Judges::programs; }
  Judgement judge(const Evidence& evidence) const { return judge_(evidence); }

  /// All of them, in the order in which they run.
  static const std::vector<const RegisteredOracle*>& all();

 private:
  /// The one registered last; each points to the one registered before it.
  static const RegisteredOracle* last_;

  std::string_view name_;
  Concern concern_;
  Judge judge_;
  Judges judges_;
  const RegisteredOracle* next_;
};

/// The judgement on a run that is not judged.
inline Judgement waived(Waiver waiver) {
  return {.look = {.waiver = waiver}};
}

}  // namespace lastref::harness::oracle
