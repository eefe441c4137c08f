#include "bench/perf/self_test.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <random>

#include <boost/math/statistics/univariate_statistics.hpp>

#include "bench/perf/files.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr const char* spin_variable = "LASTREF_BENCH_SPIN";
constexpr const char* calls_variable = "LASTREF_BENCH_CALLS";
/// The approximate time of a turn; only an initial guess.
constexpr double seconds_of_a_turn = 0.3e-9;

/// The standard deviation of a normal distribution with this median distance from 0.
double spread_of(std::vector<double> logarithms) {
  constexpr double deviations = 1.4826;
  return deviations * boost::math::statistics::median_absolute_deviation(logarithms, 0.0);
}

enum class Clock : std::uint8_t { counting, processor };

/// A place where turns can be spent, and the part of the time that one turn adds.
struct SlowPlace {
  std::string name;
  double part_of_a_turn = 0;
};

/// A benchmark that can be slowed by a chosen amount. The program spins after each crossing of one
/// call of the Os seam, or in the benchmark's body if that makes no calls; see bench/slowed_os.hpp.
/// A calibration measures how much longer the benchmark takes for a number of turns of the loop.
class Slowable {
 public:
  Slowable(BenchmarkOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}

  const std::string& name() const noexcept { return name_; }
  Clock clock() const noexcept { return clock_; }

  /// Measures the benchmark against itself in `pairs` pairs. Chooses the clock that counts if its
  /// pairs differ by at most `spread_max`, else processor time if its pairs do. Returns the spread
  /// of the pairs: the standard deviation that the logarithm of their ratio would have if it were
  /// normal. Nothing: both differ by too much.
  std::optional<double> listen(std::size_t pairs, double spread_max) {
    std::vector<double> counting;
    std::vector<double> processor;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const MeasuredBenchmark one = measure_with(spin_variable, "body:0");
      const MeasuredBenchmark other = measure_with(spin_variable, "body:0");
      counting.push_back(
          std::log(seconds_that_count(other).front() / seconds_that_count(one).front()));
      processor.push_back(
          std::log(other.processor_seconds.front() / one.processor_seconds.front()));
    }
    for (const auto& [clock, logarithms] :
         {std::pair(Clock::counting, counting), std::pair(Clock::processor, processor)}) {
      const double spread = spread_of(logarithms);
      if (std::isfinite(spread) && spread <= spread_max) {
        clock_ = clock;
        return spread;
      }
    }
    return std::nullopt;
  }

  /// Chooses a random place that each iteration passes and where time is measured, and measures the
  /// cost of a turn there. Nothing: a turn costs nothing at any of the places tried.
  std::optional<SlowPlace> find_place(std::size_t pairs, std::mt19937_64& chance) {
    Counted counted = count_calls();
    std::ranges::shuffle(counted.calls, chance);
    constexpr std::size_t places_max = 4;
    counted.calls.resize(std::min(counted.calls.size(), places_max));
    for (const auto& [place, calls] : counted.calls) {
      // About 50 % longer: well above the noise, and close enough to the later slowdowns that a
      // turn costs the same.
      const double half = counted.seconds / 2 / calls / seconds_of_a_turn;
      const auto guess = static_cast<std::uint64_t>(std::max(half, 1.0));
      const double rough = ratio_at(place, guess, 3, chance);
      if (rough < 1.1) {
        continue;  // Time is not measured here.
      }
      const double wanted = static_cast<double>(guess) * 0.4 / (rough - 1);
      const auto turns = static_cast<std::uint64_t>(std::max(wanted, 1.0));
      const double ratio = ratio_at(place, turns, pairs, chance);
      if (ratio > 1.1) {
        return SlowPlace{.name = place, .part_of_a_turn = (ratio - 1) / static_cast<double>(turns)};
      }
    }
    return std::nullopt;
  }

  /// A is unchanged; B takes 1 + `slower` times as long.
  MeasureOnce measure(const SlowPlace& place, double slower) const {
    const auto turns = static_cast<std::uint64_t>(std::llround(slower / place.part_of_a_turn));
    return [this, place = place.name, turns](Side side, std::size_t) {
      return std::vector{measure_once(place, side == Side::a ? 0 : turns)};
    };
  }

 private:
  struct Counted {
    std::vector<std::pair<std::string, double>> calls;  ///< per iteration
    double seconds = 0;                                 ///< per iteration
  };

  MeasuredBenchmark measure_with(const char* variable, const std::string& value) const {
    BenchmarkOptions options = options_;
    options.environment.emplace_back(variable, value);
    return measure_benchmark(options, name_);
  }

  double measure_once(const std::string& place, std::uint64_t turns) const {
    const MeasuredBenchmark measured =
        measure_with(spin_variable, fmt::format("{}:{}", place, turns));
    return (clock_ == Clock::processor ? measured.processor_seconds : seconds_that_count(measured))
        .front();
  }

  Counted count_calls() const {
    const std::filesystem::path calls = options_.scratch / "calls";
    std::error_code error;
    std::filesystem::remove(calls, error);
    const MeasuredBenchmark measured = measure_with(calls_variable, calls.string());
    Counted counted{.calls = {}, .seconds = seconds_that_count(measured).front()};
    std::ifstream file(calls);
    const double iterations = std::max(static_cast<double>(measured.iterations.front()), 1.0);
    std::string name;
    for (double count = 0; file >> name >> count;) {
      // A call that is made once per run is not part of an iteration. Nor is a call that several
      // iterations share, however many there are in total.
      if (count / iterations > 0.9 && count > 50) {
        counted.calls.emplace_back(name, count / iterations);
      }
    }
    if (counted.calls.empty()) {
      counted.calls.emplace_back("body", 1);
    }
    return counted;
  }

  /// The ratio of B to A, with `turns` turns in B.
  double ratio_at(const std::string& place,
                  std::uint64_t turns,
                  std::size_t pairs,
                  std::mt19937_64& chance) const {
    std::vector<double> logarithms;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const bool is_b_first = std::bernoulli_distribution(0.5)(chance);
      const double first = measure_once(place, is_b_first ? turns : 0);
      const double second = measure_once(place, is_b_first ? 0 : turns);
      logarithms.push_back(std::log(is_b_first ? first / second : second / first));
    }
    return std::exp(centre_of(logarithms, 0.5).middle);
  }

  BenchmarkOptions options_;
  std::string name_;
  Clock clock_ = Clock::counting;
};

/// Quick benchmarks: some only of arithmetic, some of messages, files and maps. Those that use a
/// tracker run on one processor, because the cost of waking another processor varies.
constexpr std::array subjects = {"registry_drop/512",
                                 "registry_hold_and_release/512",
                                 "on_one_processor/reduce_a_known_array/1000000/real_time",
                                 "on_one_processor/tracker_hold_and_release/real_time",
                                 "on_one_processor/load/1000000/manual_time"};

/// The time limit and the numbers of trials.
struct Size {
  std::size_t equals;
  std::size_t tenths;
  std::size_t hundredths;
  double seconds;
  std::size_t pairs_to_listen;
  std::size_t pairs_to_calibrate;
};
constexpr Size whole = {.equals = 200,
                        .tenths = 100,
                        .hundredths = 50,
                        .seconds = 1000,
                        .pairs_to_listen = 16,
                        .pairs_to_calibrate = 30};
constexpr Size quick = {.equals = 40,
                        .tenths = 20,
                        .hundredths = 0,
                        .seconds = 52,
                        .pairs_to_listen = 8,
                        .pairs_to_calibrate = 10};

constexpr double tenth = 0.1;
constexpr double hundredths = 0.03;
/// For slowdowns of 3 %: within a tolerance of 5 % they would be the same, and noise that still
/// shows 10 % would hide them.
constexpr double narrow_tolerance = 0.01;
constexpr std::size_t pairs_max_if_narrow = 800;

/// A benchmark with a known place to slow it.
struct Subject {
  Slowable benchmark;
  SlowPlace place;
  double seconds_a_trial = 0;  ///< estimated from its noise and its speed
};

/// The number of pairs that a trial needs with this spread: until the interval of equals, with 2.6
/// standard errors to either side, lies within the tolerance.
double pairs_a_trial(double spread, const Rules& rules) {
  constexpr double errors = 2.6;
  const double wanted = std::pow(errors * spread / std::log(1 + rules.tolerance), 2);
  return std::max(wanted, static_cast<double>(looks_of(rules).front()));
}

class SelfTest {
 public:
  explicit SelfTest(const SelfTestOptions& options)
      : options_(options), size_(options.is_quick ? quick : whole), chance_(options.seed.value()) {
    report_.is_quick = options.is_quick;
    size_.seconds = options.budget.value_or(size_.seconds);
    report_.equals_wanted = size_.equals;
    report_.tenths.slower = tenth;
    report_.hundredths.slower = hundredths;
    if (options.is_quick) {
      report_.rules.alpha = 1e-8;
      report_.rules.coverage = 0.999;
    }
  }

  SelfTestReport run() {
    for (const char* const name : subjects) {
      prepare(name);
      // Three subjects cover arithmetic and calls; the rest of the time is for trials.
      if (options_.is_quick &&
          (ready_.size() == 3 || (seconds() > size_.seconds / 3 && !ready_.empty()))) {
        break;
      }
    }
    leave_out_what_is_slow();
    while (!ready_.empty() && seconds() < size_.seconds && run_one_of_each()) {
    }
    report_.seconds = seconds();
    report_.is_time_over = report_.seconds >= size_.seconds;
    return std::move(report_);
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(SteadyClock::now() - began_).count();
  }

  void prepare(const char* name) {
    Slowable benchmark({.program = options_.program,
                        .environment = {{without_peers, "1"}},
                        .scratch = scratch_.path()},
                       name);
    HeardNoise heard{.benchmark = name};
    const double began = seconds();
    const auto spread = benchmark.listen(size_.pairs_to_listen, spread_max());
    if (!spread) {
      heard.why = fmt::format("too loud: pairs differ by more than {:.0f} %", spread_max() * 100);
    } else {
      heard.spread = *spread;
      const double a_trial = (seconds() - began) / static_cast<double>(size_.pairs_to_listen) *
                             pairs_a_trial(heard.spread, report_.rules);
      heard.is_by_processor = benchmark.clock() == Clock::processor;
      if (const auto place = benchmark.find_place(size_.pairs_to_calibrate, chance_)) {
        heard.place = place->name;
        ready_.push_back(
            {.benchmark = std::move(benchmark), .place = *place, .seconds_a_trial = a_trial});
      } else {
        heard.why = "no place of it makes it slower";
      }
    }
    say(fmt::format("{}: {}",
                    name,
                    heard.why.empty() ? fmt::format("pairs differ by {:.1f} %", heard.spread * 100)
                                      : heard.why));
    report_.noise.push_back(std::move(heard));
  }

  /// Leaves out benchmarks that take too long for the wanted number of trials. The quickest one
  /// always stays.
  void leave_out_what_is_slow() {
    std::ranges::sort(ready_, {}, &Subject::seconds_a_trial);
    const double trials = static_cast<double>(size_.equals + size_.tenths + 2 * size_.hundredths);
    const double most = 2 * (size_.seconds - seconds()) / trials;
    while (ready_.size() > 1 && ready_.back().seconds_a_trial > most) {
      for (HeardNoise& heard : report_.noise) {
        if (heard.benchmark == ready_.back().benchmark.name()) {
          heard.why = fmt::format("a trial takes {:.0f} s", ready_.back().seconds_a_trial);
        }
      }
      ready_.pop_back();
    }
  }

  /// The spread at which a tenth is 10 standard errors after pairs_max pairs. Then a tenth is found
  /// long before the last pair, even if the noise doubles.
  double spread_max() const {
    constexpr double errors = 10;
    return std::log(1 + tenth) * std::sqrt(static_cast<double>(report_.rules.pairs_max)) / errors;
  }

  /// Runs as many trials of each kind as keep the numbers in proportion. False: all are done.
  bool run_one_of_each() {
    const double part =
        static_cast<double>(report_.equals.count + 1) / static_cast<double>(size_.equals);
    bool is_any_left = false;
    Rules narrow = report_.rules;
    narrow.tolerance = narrow_tolerance;
    narrow.pairs_max = pairs_max_if_narrow;
    const auto run_up_to = [&](Trials& trials, std::size_t wanted, const Rules& rules) {
      while (trials.count < wanted && seconds() < size_.seconds &&
             static_cast<double>(trials.count) < part * static_cast<double>(wanted)) {
        run_trial(trials, rules);
      }
      is_any_left = is_any_left || trials.count < wanted;
    };
    run_up_to(report_.equals, size_.equals, report_.rules);
    run_up_to(report_.tenths, size_.tenths, report_.rules);
    run_up_to(report_.hundredths, size_.hundredths, narrow);
    return is_any_left;
  }

  void run_trial(Trials& trials, const Rules& rules) {
    const Subject& subject = ready_[trials.count % ready_.size()];
    const auto rows = run_in_pairs({{.name = subject.benchmark.name(), .rows = {"time"}}},
                                   subject.benchmark.measure(subject.place, trials.slower),
                                   {.rules = rules, .seed = chance_(), .is_over = [this] {
                                      return seconds() >= size_.seconds;
                                    }});
    const Judgement& judgement = rows.front().judgement;
    if (seconds() >= size_.seconds && judgement.verdict == Verdict::cannot_tell) {
      return;  // It was cut short and has no verdict.
    }
    trials.add(judgement);
    say(fmt::format("{} {:g} % slower: {} ({:.3f}, {} pairs); {} equals, {:.0f} s",
                    subject.benchmark.name(),
                    trials.slower * 100,
                    name_of(judgement.verdict),
                    judgement.ratio,
                    judgement.pairs,
                    report_.equals.count,
                    seconds()));
  }

  const SelfTestOptions& options_;
  Size size_;
  std::mt19937_64 chance_;
  ScratchFolder scratch_;
  SelfTestReport report_;
  std::vector<Subject> ready_;
  SteadyClock::time_point began_ = SteadyClock::now();
};

std::string line_of(const Trials& trials) {
  if (trials.count == 0) {
    return {};
  }
  return fmt::format(
      "{:4} trials of B {:g} % slower: {} found, {} called the same, {} called faster, {} could "
      "not "
      "be told; {:.0f} pairs each\n",
      trials.count,
      trials.slower * 100,
      trials.said_slower,
      trials.said_same,
      trials.said_faster,
      trials.not_told,
      trials.pairs / static_cast<double>(trials.count));
}

bool is_found_in(const Trials& trials, double part) {
  return static_cast<double>(trials.said_slower) >= part * static_cast<double>(trials.count);
}

}  // namespace

void Trials::add(const Judgement& judgement) {
  ++count;
  pairs += static_cast<double>(judgement.pairs);
  const Verdict verdict = judgement.verdict;
  ++(verdict == Verdict::slower   ? said_slower
     : verdict == Verdict::faster ? said_faster
     : verdict == Verdict::same   ? said_same
                                  : not_told);
}

harness::Exit exit_of(const SelfTestReport& report) {
  const Trials& tenths = report.tenths;
  if (report.equals.said_slower + report.equals.said_faster + tenths.said_faster +
          report.hundredths.said_faster >
      0) {
    return harness::Exit::violation;
  }
  if (report.is_quick) {
    if (tenths.said_same > 0) {
      return harness::Exit::violation;
    }
    return tenths.said_slower > 0 && tenths.not_told == 0 && report.equals.count > 0
               ? harness::Exit::clean
               : harness::Exit::incomplete;
  }
  constexpr double of_tenths = 0.99;
  constexpr double of_hundredths = 0.9;
  if (!is_found_in(tenths, of_tenths) || !is_found_in(report.hundredths, of_hundredths)) {
    return tenths.not_told + report.hundredths.not_told > 0 ? harness::Exit::incomplete
                                                            : harness::Exit::violation;
  }
  return report.equals.count < report.equals_wanted ? harness::Exit::incomplete
                                                    : harness::Exit::clean;
}

std::string text_of(const SelfTestReport& report) {
  std::string text;
  for (const HeardNoise& heard : report.noise) {
    text += heard.why.empty()
                ? fmt::format("{}: pairs differ by {:.1f} % ({}); slowed at {}\n",
                              heard.benchmark,
                              heard.spread * 100,
                              heard.is_by_processor ? "processor time" : "the clock that counts",
                              heard.place)
                : fmt::format("{}: left out, {}\n", heard.benchmark, heard.why);
  }
  const Trials& equals = report.equals;
  if (equals.count + report.tenths.count == 0) {
    const bool is_any_quiet = std::ranges::any_of(
        report.noise, [](const HeardNoise& heard) { return heard.why.empty(); });
    return text + (report.is_time_over && is_any_quiet
                       ? fmt::format("the time was over before the first trial, after {:.0f} s\n",
                                     report.seconds)
                       : "too loud to decide anything\n");
  }
  const std::size_t untold = report.tenths.not_told + report.hundredths.not_told;
  const std::size_t alarms = equals.said_slower + equals.said_faster;
  constexpr double confidence = 0.95;
  text += fmt::format(
      "{:4} trials of A against A: {} false alarms, so with 95 % confidence fewer than {:.2g} % of "
      "all (promised: {:.1g} %); {} called the same, {} could not be told; {:.0f} pairs each\n",
      equals.count,
      alarms,
      rate_at_most(alarms, equals.count, confidence) * 100,
      report.rules.alpha * 100,
      equals.said_same,
      equals.not_told,
      equals.pairs / std::max(static_cast<double>(equals.count), 1.0));
  text += line_of(report.hundredths) + line_of(report.tenths);
  switch (exit_of(report)) {
    case harness::Exit::clean:
      text += "no false alarm, and what is slower was found";
      break;
    case harness::Exit::violation:
      text += alarms > 0 ? "A FALSE ALARM" : "TOO LITTLE WAS FOUND";
      break;
    default:
      text += report.is_time_over && untold == 0
                  ? "the time was over before it was decided"
                  : "this machine is too loud, or too slow, to decide";
      break;
  }
  return text + fmt::format(", in {:.0f} s\n", report.seconds);
}

harness::Exit run_self_test(SelfTestOptions options) {
  options.program = program_beside_us("lastref_bench");
  options.seed = options.seed.value_or(new_seed());
  say(fmt::format("--seed {}, on {}", *options.seed, name_of(this_machine())));
  be_first_in_line();
  const SelfTestReport report = SelfTest(options).run();
  std::cout << text_of(report);
  const harness::Exit exit = exit_of(report);
  if (exit != harness::Exit::clean) {
    std::cout << fmt::format("again: lastref perf self-test{}{} --seed {}\n",
                             options.is_quick ? " --quick" : "",
                             options.budget ? fmt::format(" --budget {:g}", *options.budget) : "",
                             *options.seed);
  }
  return exit;
}

}  // namespace lastref::perf
