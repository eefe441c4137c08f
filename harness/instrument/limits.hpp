// limits: of a run, the same in every world.
#pragma once

#include <cstddef>
#include <cstdint>

#include <lastref/os.hpp>

namespace lastref::harness {

/// Faults that a plan may have.
inline constexpr std::size_t faults_max = 8;
inline constexpr std::size_t signals_max = 64;
inline constexpr std::size_t mails_max = 16;
inline constexpr std::size_t mail_size_max = 2000;  ///< bytes
inline constexpr std::uint32_t records_max = 60'000;
/// Space that crossings leave to facts and operations; those of a long run are not all in the
/// journal.
inline constexpr std::uint32_t records_of_crossings_max = records_max - 24'000;
/// After so many crossings a run does not come to rest any more. The second is for scenarios about
/// size, which are in no matrix.
inline constexpr std::uint32_t crossings_max = 20'000;
inline constexpr std::uint32_t crossings_max_at_scale = 2'000'000;
/// After so many crossings on end, one actor has to let the others go.
inline constexpr std::uint32_t turns_on_end_max = 200;
/// That the clock moves each time somebody looks.
inline constexpr os::Instant tick{1000};

}  // namespace lastref::harness
