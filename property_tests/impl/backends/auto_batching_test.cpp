// auto_batching_test: the size of batches against a model of the rule, which is joblib's.
#include "impl/backends/auto_batching.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/support/directed_os.hpp"

namespace lastref {
namespace {

using backends::AutoBatching;
using std::chrono::nanoseconds;

/// As in joblib's AutoBatchingMixin.
struct Model {
  double size = 1;
  double smoothed = 0;  // seconds

  std::size_t next() {
    const double old = size;
    if (smoothed > 0 && smoothed < 0.2) {
      size = std::max(2 * std::floor(old * 0.2 / smoothed), 1.0);
    } else if (smoothed > 2 && old >= 2) {
      size = std::floor(old / 2);
    }
    if (size != old) {
      smoothed = 0;
    }
    return static_cast<std::size_t>(size);
  }
  void completed(double batch, double seconds) {
    if (batch == size) {
      smoothed = smoothed == 0 ? seconds : 0.8 * smoothed + 0.2 * seconds;
    }
  }
};

nanoseconds of_seconds(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

RC_GTEST_PROP(AutoBatchingProperties, sizes_are_those_of_the_rule_B6, ()) {
  pretend::DirectedOs os;
  AutoBatching batching(os);
  Model model;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, 4000)));
  std::size_t size = 1;
  for (const auto& [kind, milliseconds] : steps) {
    if (kind == 0) {
      size = batching.compute_batch_size(0);
      RC_ASSERT(size == model.next());
      RC_PRE(size < 100'000'000);
    } else {
      // Some are of a size that is no longer in use.
      const std::size_t told = kind == 1 ? size + 1 : size;
      const nanoseconds duration = std::chrono::milliseconds(milliseconds);
      batching.batch_completed(told, duration);
      model.completed(static_cast<double>(told), std::chrono::duration<double>(duration).count());
    }
  }
  RC_ASSERT(os.said.empty());
}

RC_GTEST_PROP(AutoBatchingProperties, any_duration_is_survived_and_a_size_is_never_0_B6, ()) {
  pretend::DirectedOs os;
  AutoBatching batching(os);
  for (const auto duration : *rc::gen::arbitrary<std::vector<std::int64_t>>()) {
    const std::size_t size = batching.compute_batch_size(0);
    RC_ASSERT(size >= 1U);
    RC_ASSERT(size <= 2'000'000'000U);
    batching.batch_completed(size, nanoseconds(duration));
  }
}

TEST(AutoBatching, grows_to_what_takes_the_ideal_twice_and_shrinks_by_half_B6) {
  pretend::DirectedOs os;
  AutoBatching batching(os);
  EXPECT_EQ(batching.compute_batch_size(0), 1U);
  batching.batch_completed(1, of_seconds(0.01));
  EXPECT_EQ(batching.compute_batch_size(0), 40U);  // 2 * int(1 * 0.2 / 0.01)
  batching.batch_completed(40, of_seconds(3));
  EXPECT_EQ(batching.compute_batch_size(0), 20U);
  batching.batch_completed(40, of_seconds(100));  // Of an outdated size: not counted.
  EXPECT_EQ(batching.compute_batch_size(0), 20U);
  batching.batch_completed(20, of_seconds(1));
  EXPECT_EQ(batching.compute_batch_size(0), 20U);
}

TEST(AutoBatching, smooths_what_comes_after_the_first_sample_B6) {
  pretend::DirectedOs os;
  AutoBatching batching(os);
  batching.batch_completed(1, of_seconds(1));
  batching.batch_completed(1, of_seconds(0.001));  // 0.8002: one fast batch changes nothing
  EXPECT_EQ(batching.compute_batch_size(0), 1U);
  for (int times = 0; times < 5; ++times) {
    batching.batch_completed(1, of_seconds(0.001));
  }
  EXPECT_EQ(batching.compute_batch_size(0), 1U);  // 0.2628
  for (int times = 0; times < 2; ++times) {
    batching.batch_completed(1, of_seconds(0.001));
  }
  EXPECT_EQ(batching.compute_batch_size(0), 2U);  // 0.1685
}

TEST(AutoBatching, a_single_task_stays_single_however_long_it_takes_B6) {
  pretend::DirectedOs os;
  AutoBatching batching(os);
  batching.batch_completed(1, of_seconds(1000));
  EXPECT_EQ(batching.compute_batch_size(0), 1U);
}

TEST(AutoBatching, the_bounds_themselves_are_ideal_B6) {
  for (const double seconds : {0.2, 2.0}) {
    pretend::DirectedOs os;
    AutoBatching batching(os);
    batching.batch_completed(1, of_seconds(0.1));
    ASSERT_EQ(batching.compute_batch_size(0), 4U);
    batching.batch_completed(4, of_seconds(seconds));
    EXPECT_EQ(batching.compute_batch_size(0), 4U);
  }
}

TEST(AutoBatching, tells_of_changes_from_verbose_10_on_B6) {
  for (const int verbose : {0, 9, 10, 50}) {
    pretend::DirectedOs os;
    AutoBatching batching(os);
    batching.compute_batch_size(verbose);
    EXPECT_EQ(os.said, "");
    batching.batch_completed(1, of_seconds(0.01));
    batching.compute_batch_size(verbose);
    const std::string first = os.said;
    batching.batch_completed(40, of_seconds(3));
    batching.compute_batch_size(verbose);
    if (verbose < 10) {
      EXPECT_EQ(os.said, "");
    } else {
      EXPECT_THAT(first, testing::AllOf(testing::HasSubstr("0.0100 s"), testing::HasSubstr("40")));
      EXPECT_THAT(os.said.substr(first.size()),
                  testing::AllOf(testing::HasSubstr("3.0000 s"), testing::HasSubstr("20")));
    }
  }
}

TEST(AutoBatching, begins_anew_with_a_restart_B6) {
  pretend::DirectedOs os;
  AutoBatching batching(os);
  batching.batch_completed(1, of_seconds(0.01));
  EXPECT_EQ(batching.compute_batch_size(0), 40U);
  batching.batch_completed(40, of_seconds(0.01));
  batching.restart();
  EXPECT_EQ(batching.compute_batch_size(0), 1U);
}

}  // namespace
}  // namespace lastref
