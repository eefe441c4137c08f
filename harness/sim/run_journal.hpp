// RunJournal: the records of a run, in memory that is used again by the next one.
//
// It is not in the arena of the run: a run that continues from a copy of another one needs no copy
// of the records that both have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "harness/journal/record.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness::sim {

class RunJournal {
 public:
  RunJournal() = default;
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;
  ~RunJournal() = default;

  std::size_t size() const noexcept { return size_; }
  Record& back() noexcept { return records_[size_ - 1]; }
  std::span<const Record> records() const noexcept { return std::span(records_).first(size_); }
  void clear() noexcept {
    size_ = 0;
    origin_ = nullptr;
  }

  /// Views of earlier records become invalid.
  Record& emplace_back() {
    if (size_ == records_.size()) {
      const ArenaPause outlives_the_run;
      records_.resize(std::max<std::size_t>(1024, 2 * size_));
    }
    return records_[size_++] = {};
  }

  /// From now on the first records are these. They are kept by the caller, and do not change.
  void start_with(std::span<const Record> records) {
    const std::size_t here = origin_ == records.data() ? std::min(known_, records.size()) : 0;
    if (records.size() > records_.size()) {
      records_.resize(records.size());
    }
    std::copy(records.begin() + static_cast<std::ptrdiff_t>(here),
              records.end(),
              records_.begin() + static_cast<std::ptrdiff_t>(here));
    size_ = records.size();
    origin_ = records.data();
    known_ = size_;
  }

 private:
  std::vector<Record> records_;
  std::size_t size_ = 0;
  const Record* origin_ = nullptr;  ///< Where the first `known_` records are copied from.
  std::size_t known_ = 0;
};

}  // namespace lastref::harness::sim
