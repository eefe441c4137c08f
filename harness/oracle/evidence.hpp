// Evidence: all that a world tells about a run, and the judgement on it.
//
// Oracles are pure functions of it. They share no code with the product, and nothing that the
// product says about itself counts, except where it is asked: the tracker's counts at quiet
// moments.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/record.hpp"
#include "harness/oracle/file_look.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

struct Evidence {
  const Scenario& scenario;
  const Plan& plan;
  std::span<const Record> records;
  /// Absolute paths of what is left when the last process is gone. A semaphore is
  /// "/dev/shm/sem.name", shared memory "/dev/shm/name". The runtime folder itself is not among
  /// them.
  std::vector<std::string> left;
  /// The same after the next start, which sweeps up.
  std::vector<std::string> left_after_sweep;
  std::string standard_error;
  /// In the order in which they were looked at.
  std::vector<FileLook> files = {};
};

/// What one oracle says of a run.
struct Judgement {
  std::vector<Finding> findings = {};
  Look look = {};
};

/// The names of all oracles, in the order in which they are asked.
std::span<const std::string_view> oracle_names() noexcept;
/// Where `same` is among them.
inline constexpr std::size_t index_of_same = 23;

/// What all oracles say, in that order.
std::vector<Judgement> judge(const Evidence& evidence);

/// What the evidence tells of a run; what was reached and answered, the world adds.
Outcome outcome_of(const Evidence& evidence);

/// The crossings of a run in order, for enumeration.
std::vector<Crossing> crossings_of(std::span<const Record> records);

/// Of each process the first allocation of each chain of callers, where they are noted.
std::vector<Crossing> allocations_of(std::span<const Record> records);

/// The last few records of each process, as text.
std::vector<std::string> last_crossings_of(std::span<const Record> records);

}  // namespace lastref::harness
