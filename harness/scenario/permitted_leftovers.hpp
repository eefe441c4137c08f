// permitted_leftovers: names that remain past the next start, and that no process promised to
// remove; their kinds, and the reasons.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "harness/platform/named_enum.hpp"

namespace lastref::harness {

LASTREF_NAMED_ENUM(WhyPermitted,
                   // A protocol without a ledger promises nothing past its tracker's failure.
                   (no_ledger, "the tracker of a protocol without a ledger died or failed"),
                   // Each check was made to report that they do not exist.
                   (said_to_be_gone,
                    "each check of them was made to report that they do not exist"),
                   // The scenario leaves it on purpose, or it belongs to another scenario.
                   (scenario,
                    "the scenario leaves them on purpose, or they belong to another scenario"));

LASTREF_NAMED_ENUM(NameKind,
                   (file, "file"),
                   (array, "array"),
                   (shared_memory, "shared memory"),
                   (semaphore, "semaphore"));

/// The kind of a path as the evidence has it. A folder counts as a file; a file of an array as an
/// array.
constexpr NameKind kind_of_name(std::string_view path) noexcept {
  constexpr std::string_view shared_memory_folder = "/dev/shm/";
  if (path.find("/lastref_memmapping_folder_") != std::string_view::npos) {
    return NameKind::array;
  }
  const bool is_object = path.starts_with(shared_memory_folder) &&
                         path.find('/', shared_memory_folder.size()) == std::string_view::npos;
  if (!is_object) {
    return NameKind::file;
  }
  return path.substr(shared_memory_folder.size()).starts_with("sem.") ? NameKind::semaphore
                                                                      : NameKind::shared_memory;
}

/// The number of such names, by reason and kind.
template <typename Number>
class PermittedCount {
 public:
  void add(WhyPermitted why, NameKind kind, Number number = 1) noexcept {
    counts_[index(why)][static_cast<std::size_t>(kind)] += number;
  }
  template <typename Other>
  void add(const PermittedCount<Other>& other) noexcept {
    for (std::size_t why = 0; why < counts_.size(); ++why) {
      for (std::size_t kind = 0; kind < counts_[why].size(); ++kind) {
        const auto its_why = static_cast<WhyPermitted>(why);
        const auto its_kind = static_cast<NameKind>(kind);
        add(its_why, its_kind, other.count(its_why, its_kind));
      }
    }
  }
  Number count(WhyPermitted why, NameKind kind) const noexcept {
    return counts_[index(why)][static_cast<std::size_t>(kind)];
  }
  Number count(WhyPermitted why) const noexcept {
    const auto& row = counts_[index(why)];
    return std::accumulate(row.begin(), row.end(), Number{});
  }
  Number total() const noexcept {
    Number sum{};
    for (std::size_t why = 0; why < counts_.size(); ++why) {
      sum += count(static_cast<WhyPermitted>(why));
    }
    return sum;
  }

 private:
  static std::size_t index(WhyPermitted why) noexcept { return static_cast<std::size_t>(why); }

  std::array<std::array<Number, names_of(NameKind()).size()>, names_of(WhyPermitted()).size()>
      counts_{};
};

}  // namespace lastref::harness
