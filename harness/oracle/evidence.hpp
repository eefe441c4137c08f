// Evidence: everything that a world records about a run, and the judgement on it.
//
// Oracles are pure functions of it. They share no code with the product, and do not rely on what
// the product reports about itself, except where that is the subject: the tracker's counts at quiet
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
  /// Absolute paths of the leftovers after the last process has ended. A semaphore is
  /// "/dev/shm/sem.name", shared memory "/dev/shm/name". The runtime folder itself is not included.
  std::vector<std::string> left;
  /// The same after the next start, which sweeps.
  std::vector<std::string> left_after_sweep;
  std::string standard_error;
  /// In the order in which they were read.
  std::vector<FileLook> files = {};
};

/// The result of one oracle for a run.
struct Judgement {
  std::vector<Finding> findings = {};
  Look look = {};
};

/// The names of all oracles, in the order in which they run.
const std::vector<std::string_view>& oracle_names();
/// Its index there. The oracle has to exist.
std::size_t index_of_oracle(std::string_view name);

/// The judgement of one oracle, which has to exist.
Judgement judge_by(std::string_view name, const Evidence& evidence);

/// The outcome of a run as far as the evidence shows it; the world adds what was reached and
/// answered.
Outcome outcome_of(const Evidence& evidence);

/// The crossings of a run in order, for enumeration.
std::vector<Crossing> crossings_of(std::span<const Record> records);

/// The first allocation of each call stack in each process, where allocations are recorded.
std::vector<Crossing> allocations_of(std::span<const Record> records);

/// The last few records of each process, as text.
std::vector<std::string> last_crossings_of(std::span<const Record> records);

}  // namespace lastref::harness
