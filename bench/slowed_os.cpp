#include "bench/slowed_os.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>

#include <lastref/kernel_os.hpp>

namespace lastref::bench {
namespace {

/// Nothing: the text is invalid.
std::optional<Slowness> parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  Slowness slow;
  const std::string_view place = text.substr(0, colon);
  const std::string_view turns = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(turns.begin(), turns.end(), slow.turns);
  if (error != std::errc() || end != turns.end()) {
    return std::nullopt;
  }
  slow.is_in_body = place == "body";
  const auto found = std::ranges::find(call_rows(), place, &CallRow::method);
  if (found != call_rows().end()) {
    slow.place = found->call;
  }
  return slow.is_in_body || slow.place != Call::none ? std::optional(slow) : std::nullopt;
}

Slowness slowness_asked_for() {
  os::KernelOs os;
  Slowness slow;
  if (const auto spin = os.environment("LASTREF_BENCH_SPIN")) {
    const std::optional<Slowness> parsed = parse(*spin);
    if (!parsed) {
      std::cerr << "LASTREF_BENCH_SPIN is <a method of Os, or body>:<turns>, not " << *spin << '\n';
      ::_exit(1);
    }
    slow = *parsed;
  }
  slow.calls = os.environment("LASTREF_BENCH_CALLS").value_or("");
  return slow;
}

}  // namespace

const Slowness& slowness() {
  static const Slowness slow = slowness_asked_for();
  return slow;
}

SlowedOs::~SlowedOs() {
  if (slow_.calls.empty()) {
    return;
  }
  std::ofstream file(slow_.calls, std::ios::trunc);
  for (const CallRow& row : call_rows()) {
    file << row.method << ' ' << counts_[static_cast<std::size_t>(row.call)] << '\n';
  }
}

}  // namespace lastref::bench
