// figures: formats times, ratios and counts for people, and text for HTML.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/perf/series.hpp"

namespace lastref::perf {

struct TimeUnit {
  double seconds = 1;
  const char* name = "s";
};

/// The unit in which a time is at least 1 and below 1000, if there is one.
TimeUnit unit_for(double seconds);

/// Four digits: "12.35", "0.001235", "201.0"; from 10,000 on with a letter: "35.10 M".
std::string figure(double value);
/// "12.35 µs".
std::string time_figure(double seconds);
/// "12.35 µs [12.20, 12.50]"; all values have the same unit.
std::string time_figure(double seconds, const Within<double>& within);
/// A ratio as "+12.0 %", or as "×2.50" if it is at least 2 or at most 0.5.
std::string change_figure(double ratio);
/// "+12.0 % [+10.1 %, +13.5 %]".
std::string change_figure(double ratio, const Within<double>& within);
/// "2024-05-01", in UTC.
std::string day_of(std::int64_t seconds);
/// "2024-05-01T10:00:00Z".
std::string moment_of(std::int64_t seconds);
/// A commit's name; a full hash is shortened to 10 digits.
std::string short_commit(const std::string& name);

/// The whole number that the text is; nothing if it is another text.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

}  // namespace lastref::perf
