// growth: what a process has more of after each round of its work.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lastref::harness::warden {

struct Growth {
  std::string role;
  std::string what;      ///< "descriptors", "maps", "threads"; "processes" of the whole tree
  std::size_t from = 0;  ///< Of them after the first round that counts
  std::size_t to = 0;    ///< and after the last one
  double each_round = 0;
};

class RoundsSeen {
 public:
  /// The first rounds are those in which caches fill, and do not count: a quarter, and at least
  /// one.
  static constexpr std::size_t rounds_least = 8;

  /// What a process has when a round is over.
  void note(const std::string& role, int process);
  /// How many processes the tree has then, dead ones that nobody asked for among them.
  void note_tree(std::size_t processes) { sizes_[{"all", "processes"}].push_back(processes); }
  /// What grew in all processes that were there from the first round to the last: each third of its
  /// figures is above the one before. Nothing of fewer rounds than `rounds_least`.
  std::vector<Growth> growing() const;
  void end_round() noexcept { ++rounds_; }

 private:
  std::map<std::pair<std::string, std::string_view>, std::vector<std::size_t>> sizes_;
  std::size_t rounds_ = 0;
};

}  // namespace lastref::harness::warden
