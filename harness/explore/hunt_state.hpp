// HuntState: all that a hunt needs to continue where it stopped, and its file.
//
// A continued hunt makes the runs that the other would have made, and has the same results, except
// for times. What the clean run of a scenario shows is not in the state: the run is repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "harness/explore/hunt.hpp"
#include "harness/platform/named_enum.hpp"
#include "harness/report/progress.hpp"

namespace lastref::harness {

struct HuntState {
  struct Scenario {
    bool is_known = false;  ///< Its clean run is over.
    std::uint64_t deviations_given = 0;
    std::size_t orders_of_deviations = 0;  ///< Those that no other run had before
    std::uint64_t random_runs = 0;
    std::vector<std::uint64_t> orders = {};
    std::vector<std::string> fingerprints = {};

    bool operator==(const Scenario&) const = default;
  };
  /// A run that was not over. It is made again.
  struct UnderWay {
    std::uint64_t number = 0;
    std::size_t scenario = 0;
    bool is_deviation = false;  ///< Otherwise it is a random run.
    std::uint64_t index = 0;    ///< among the deviations, or the random runs
    PolicyName policy = {};     ///< of a random run

    bool operator==(const UnderWay&) const = default;
  };

  std::uint64_t hunt = 0;  ///< Distinguishes hunts: see identity_of.
  HuntResults results = {};
  std::size_t turn = 0;
  std::uint64_t left_in_turn = 0;
  std::uint64_t given = 0;
  std::vector<Scenario> scenarios = {};  ///< In the order of those of the hunt
  std::vector<UnderWay> under_way = {};
};

/// Differs between hunts with other scenarios, seeds, policies, parameters or builds. The numbers
/// of runs, seconds and worlds may differ in a continued hunt.
std::uint64_t identity_of(const HuntOptions& options);

LASTREF_NAMED_ENUM(HuntStateError,
                   (not_a_state, "is not a file of `lastref hunt --resume`, or was cut"),
                   (invalid, "has values that no hunt writes"),
                   (other_hunt, "is of a hunt with other options, or of another build"));

/// One JSON object.
std::string to_text(const HuntState& state);
/// Errors  `not_a_state` or `invalid`. The state may be that of any hunt.
tl::expected<HuntState, HuntStateError> parse_hunt_state(std::string_view text);
/// The same for a hunt with these options.
/// Errors  `other_hunt` as well.
tl::expected<HuntState, HuntStateError> parse_hunt_state(std::string_view text,
                                                         const HuntOptions& options);

}  // namespace lastref::harness
