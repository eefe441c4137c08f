// self_test: how often `perf compare` is wrong here.
//
// Each trial is a comparison of one benchmark by the very loop of `perf compare`: of a program with
// itself, which has to raise no alarm, and with one that is slower at a random place, which has to
// be found. First the noise of the machine is heard; benchmarks that are too loud to be told by
// pairs_max pairs are left out, and if all are there is no trial: the machine is too loud.
//
// How often a test of a program that is right fails by chance, where `quick` is one of ctest:
// - A false alarm has a chance of alpha at most in each trial of equals, whatever the noise is
//   (verdict.hpp). Quick: alpha 1e-8, and 40 trials at most: 4e-7.
// - A tenth more that is called the same or faster: the interval lies below 1.05, so its upper
//   bound is wrong by more than 4.7 %, and as it lies above 1/1.05 it reaches less than 4.9 % to
//   either side of its centre. So its centre is further from the truth than about twice what the
//   interval allows for, with a chance of 1e-3 / 5 a look. Twice that is 7.4 standard errors
//   instead of 3.7: below 1e-12 a look.
// - What is not found otherwise could not be told: the machine has become too loud, and there is no
//   verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/verdict.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

struct SelfTestOptions {
  std::filesystem::path program;
  std::uint64_t seed = 0;
  bool is_quick = false;
  std::optional<double> budget = {};  ///< seconds in all; else a quarter of an hour, or a minute
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

/// Trials of one kind, by what was told of them.
struct Trials {
  double slower = 0;  ///< 0.1: B takes 1.1 times as long.
  std::size_t count = 0;
  std::size_t said_slower = 0;
  std::size_t said_faster = 0;
  std::size_t said_same = 0;
  std::size_t not_told = 0;
  double pairs = 0;  ///< in all

  void add(const Judgement& judgement);
};

struct HeardNoise {
  std::string benchmark;
  bool is_by_processor = false;  ///< The wall clock was too loud.
  double spread = 0;             ///< 0.03: pairs differ by 3 %, as a standard deviation.
  std::string place = {};        ///< that is slowed; empty: it is left out
  std::string why = {};          ///< it is left out
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
  bool is_time_over = false;  ///< It was cut short.
};

/// Fails if the benchmarks cannot be run.
tl::expected<SelfTestReport, std::string> self_test(const SelfTestOptions& options);

/// 1: an alarm at equals, or too little was found. 3: too loud to tell, or cut short.
harness::Exit exit_of(const SelfTestReport& report);
std::string text_of(const SelfTestReport& report);

}  // namespace lastref::perf
