// times: measures how long something takes, and computes medians.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace lastref::bench {

inline double seconds(const std::function<void()>& act) {
  const auto before = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

class Times {
 public:
  void add(double each) { all_.push_back(each); }
  /// 0 without values.
  double median() { return at(1, 2); }
  /// The range of the middle half, divided by the median; 0 without values.
  double spread() { return all_.empty() ? 0 : (at(3, 4) - at(1, 4)) / median(); }

 private:
  /// The value below which part/parts of all values lie.
  double at(std::size_t part, std::size_t parts) {
    const auto nth = all_.begin() + static_cast<std::ptrdiff_t>(all_.size() * part / parts);
    std::nth_element(all_.begin(), nth, all_.end());
    return all_.empty() ? 0 : *nth;
  }

  std::vector<double> all_;
};

}  // namespace lastref::bench
