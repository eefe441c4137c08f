// limits: limits of a run, the same in every world.
#pragma once

#include <cstddef>
#include <cstdint>

#include <lastref/os.hpp>

namespace lastref::harness {

/// Maximum number of faults in a plan.
inline constexpr std::size_t faults_max = 8;
inline constexpr std::size_t signals_max = 64;
inline constexpr std::size_t mails_max = 16;
inline constexpr std::size_t mail_size_max = 2000;  ///< bytes
inline constexpr std::uint32_t records_max = 60'000;
/// Space in the journal reserved for facts and operations; the journal of a long run does not have
/// all its crossings.
inline constexpr std::uint32_t records_of_crossings_max = records_max - 24'000;
/// After this many crossings a run counts as endless. Some wait for a time limit several times,
/// each while another actor polls a socket in vain, for 9,000 crossings. The second limit is for
/// scenarios about size, which are in no matrix.
inline constexpr std::uint32_t crossings_max = 40'000;
inline constexpr std::uint32_t crossings_max_at_scale = 2'000'000;
/// After this many consecutive crossings an actor has to give the turn to others.
inline constexpr std::uint32_t turns_on_end_max = 200;
/// The clock advances by this each time it is read.
inline constexpr os::Instant tick{1000};

}  // namespace lastref::harness
