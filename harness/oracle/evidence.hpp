// Evidence: everything that is recorded about a run, of a scenario or of a watched program, and the
// judgement on it.
//
// Oracles are pure functions of it. They share no code with the product, and do not rely on what
// the product reports about itself, except where that is the subject: the tracker's counts at quiet
// moments.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/record.hpp"
#include "harness/oracle/file_look.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Whether oracles read a record for itself: facts, operations, injected errors, and the ends of
/// calls that change names, maps, locks or bytes of files, or report something on standard error.
/// Most records of a run are others.
bool is_notable(const Record& record) noexcept;

/// The notable records of a run, selected at their first use.
class NotableRecords {
 public:
  class Iterator {
   public:
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using pointer = const Record*;
    using reference = const Record&;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    explicit Iterator(const Record* const* at) noexcept : at_(at) {}

    reference operator*() const noexcept { return **at_; }
    pointer operator->() const noexcept { return *at_; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    Iterator operator++(int) noexcept { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const Record* const* at_ = nullptr;
  };

  /// A view of them, valid while this object is not used for other records.
  struct Selected {
    Iterator first;
    Iterator last;

    Iterator begin() const noexcept { return first; }
    Iterator end() const noexcept { return last; }
  };

  Selected of(std::span<const Record> records) const {
    select(records);
    return {Iterator(selected_.data()), Iterator(selected_.data() + selected_.size())};
  }

 private:
  void select(std::span<const Record> records) const;

  mutable std::span<const Record> from_;
  mutable std::vector<const Record*> selected_;
};

struct Evidence {
  const Scenario& scenario;
  const Plan& plan;
  std::span<const Record> records;
  /// Absolute paths of the leftovers after the last process has ended. A semaphore is
  /// "/dev/shm/sem.name", shared memory "/dev/shm/name". The runtime folder itself is not included.
  std::vector<std::string> left;
  /// The same after the next start, which sweeps.
  std::vector<std::string> left_after_sweep;
  std::string standard_error;
  /// In the order in which they were read.
  std::vector<FileLook> files = {};
  /// Of a program that `lastref run` watches. It has promised nothing, so leftovers have no excuse.
  /// Scenario and plan are empty.
  bool is_of_program = false;
  /// The texts of the records by their numbers, if they may be longer than a record's.
  std::vector<std::string> texts = {};
  /// What each name in `left` is, and the call that made it, where that is known.
  std::map<std::string, std::string, std::less<>> makers = {};
  NotableRecords notable_records = {};

  /// In the order of `records`, which must not change any more. For oracles that read nothing else.
  NotableRecords::Selected notable() const { return notable_records.of(records); }

  std::string text_of(const Record& record) const {
    return record.seq < texts.size() ? texts[record.seq] : std::string(record.text.view());
  }
};

/// The result of one oracle for a run.
struct Judgement {
  std::vector<Finding> findings = {};
  Look look = {};
};

/// The names of all oracles, in the order in which they run.
const std::vector<std::string_view>& oracle_names();
/// Those among them that judge any program.
std::vector<std::string_view> names_of_general_oracles();
/// The index among all. The oracle has to exist.
std::size_t index_of_oracle(std::string_view name);

/// The judgement of one oracle, which has to exist.
Judgement judge_by(std::string_view name, const Evidence& evidence);

/// The outcome of a run as far as the evidence shows it; the world adds what was reached and
/// answered.
Outcome outcome_of(const Evidence& evidence);

/// The crossings of a run in order, for enumeration.
std::vector<Crossing> crossings_of(std::span<const Record> records);

/// The first allocation of each call stack in each process, where allocations are recorded.
std::vector<Crossing> allocations_of(std::span<const Record> records);

/// The last few records of each process, as text.
std::vector<std::string> last_crossings_of(std::span<const Record> records);

}  // namespace lastref::harness
