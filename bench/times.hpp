// times: how long something took, and the median of that.
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
  /// 0 of none.
  double median() {
    const auto middle = all_.begin() + static_cast<std::ptrdiff_t>(all_.size() / 2);
    std::nth_element(all_.begin(), middle, all_.end());
    return all_.empty() ? 0 : *middle;
  }

 private:
  std::vector<double> all_;
};

}  // namespace lastref::bench
