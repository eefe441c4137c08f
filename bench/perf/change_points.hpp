// change_points: where a series of values has moved to another level, and how sure that is.
//
// E-divisive with means: the split of a segment is where the values before and after differ most
// beside how much they differ among themselves; it counts if few random orders of the same values
// have as good a one. Then each part is a segment. Source: Matteson and James, "A nonparametric
// approach for multiple change point analysis of multivariate data"; its use for speed: Daly et
// al., "The use of change point detection to identify software performance regressions in a
// continuous integration system".
//
// Differs: Daly et al. let the later part of a split go to the end of its segment. Then a slowdown
// that is mended later stays unseen in a history of thirty commits, however large it is.
//
// What a newcomer would get wrong:
// - The rate of false alarms is that of a whole series without change, for however many segments.
// - A short series shows nothing at all: of eight values there are too few orders. See values_min.
// - One value that stands out is no step, however far out it is; see values_of_a_part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::perf {

/// Where something is believed to lie, ends included.
template <typename T>
struct Within {
  T least{};
  T most{};

  bool operator==(const Within&) const = default;
};

struct ChangePoint {
  std::size_t index = 0;             ///< of the first value on the new level
  Within<std::size_t> place = {};    ///< of that index, at 95 %
  double before = 0;                 ///< mean of the values back to the change point before
  double after = 0;                  ///< and on to the next one
  double ratio = 1;                  ///< of after to before
  Within<double> ratio_within = {};  ///< at 95 %
  double p = 1;                      ///< how often chance alone splits as well
};

struct ChangePointOptions {
  double p = 0.01;           ///< most that a change point may have
  std::uint64_t seed = 1;    ///< of the random orders: the same one, the same answer
  std::size_t orders = 999;  ///< random ones a test
};

/// Fewest values on either side of a step.
inline constexpr std::size_t values_of_a_part = 2;

/// Fewest values in which any step can be seen: in fewer, every p is above that of the options.
std::size_t values_min(const ChangePointOptions& options);

/// Why a series has no answer.
struct NoSeries {
  std::size_t index = 0;  ///< of a value that is no number, or infinite

  bool operator==(const NoSeries&) const = default;
};

/// All of them, in order.
tl::expected<std::vector<ChangePoint>, NoSeries> change_points_of(
    std::span<const double> series, const ChangePointOptions& options = {});

}  // namespace lastref::perf
