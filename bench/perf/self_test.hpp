// self_test: measures how often `perf compare` is wrong on this machine.
//
// Each trial compares one benchmark with the same loop as `perf compare`. A comparison of a program
// with itself has to raise no alarm. A comparison with one that is slower at a random place has to
// find that. First the noise of the machine is measured. Benchmarks with too much noise for
// pairs_max pairs are left out. If all are left out, there is no trial: the machine is too noisy.
//
// How often the test of a correct program fails by chance, where `quick` is the one in ctest:
// - A false alarm has a probability of at most alpha in each trial of equals, for any noise
//   (verdict.hpp). Quick: alpha 1e-8, and at most 40 trials: 4e-7.
// - A slowdown of 10 % is called the same or faster: then the interval lies below 1.05, so its
//   upper bound is wrong by more than 4.7 %. As it lies above 1/1.05, it reaches less than 4.9 % to
//   either side of its centre. So its centre is further from the truth than about twice what the
//   interval allows for, which has a probability of 1e-3 / 5 per look. Twice that is 7.4 standard
//   errors instead of 3.7: below 1e-12 per look.
// - A slowdown that is missed in another way has no verdict: the machine has become too noisy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/perf/verdict.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

/// The trials of one kind, by verdict.
struct Trials {
  double slower = 0;  ///< 0.1: B takes 1.1 times as long.
  std::size_t count = 0;
  std::size_t said_slower = 0;
  std::size_t said_faster = 0;
  std::size_t said_same = 0;
  std::size_t not_told = 0;
  double pairs = 0;  ///< total

  void add(const Judgement& judgement);
};

struct HeardNoise {
  std::string benchmark;
  bool is_by_processor = false;  ///< The clock that counts was too noisy.
  double spread = 0;             ///< 0.03: pairs differ by 3 %, as a standard deviation.
  std::string place = {};        ///< the place that is slowed; empty: left out
  std::string why = {};          ///< why it is left out
};

struct SelfTestReport {
  std::vector<HeardNoise> noise;
  Trials equals;
  Trials hundredths;  ///< 3 % slower
  Trials tenths;      ///< 10 % slower
  std::size_t equals_wanted = 0;
  Rules rules;
  double seconds = 0;
  bool is_quick = false;
  bool is_time_over = false;  ///< The time was over.
};

/// 1: a false alarm, or too few slowdowns were found. 3: too noisy for a verdict, or cut short.
harness::Exit exit_of(const SelfTestReport& report);
std::string text_of(const SelfTestReport& report);

}  // namespace lastref::perf
