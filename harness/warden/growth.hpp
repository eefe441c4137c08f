// growth: which resources of a process increase with each round of its work.
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
  std::size_t from = 0;  ///< The number after the first round that counts
  std::size_t to = 0;    ///< and after the last one
  double each_round = 0;
  /// Of which object there are most more since the first round: "8 more of socket"; empty: unknown
  std::string most = {};
};

class RoundsSeen {
 public:
  /// The first quarter of the rounds, in which caches fill, does not count. Fewer rounds than this
  /// give no result.
  static constexpr std::size_t rounds_least = 8;

  /// Records what a process has when a round is over.
  void note(const std::string& role, int process);
  /// Records how many processes the tree has at that time, zombies included.
  void note_tree(std::size_t processes) { sizes_[{"all", "processes"}].push_back(processes); }
  /// What grew in all processes that existed from the first round to the last. Growth means that
  /// the values of each third are above those of the third before. Empty for fewer than
  /// `rounds_least` rounds.
  std::vector<Growth> growing() const;
  void end_round() noexcept { ++rounds_; }

 private:
  using Counts = std::map<std::string, std::size_t>;  ///< By object

  void note_objects(const std::string& role, std::string_view what, const Counts& counts);
  std::string most_grown(const std::pair<std::string, std::string_view>& key) const;

  std::map<std::pair<std::string, std::string_view>, std::vector<std::size_t>> sizes_;
  /// After the first round and after the last one
  std::map<std::pair<std::string, std::string_view>, std::pair<Counts, Counts>> objects_;
  std::size_t rounds_ = 0;
};

}  // namespace lastref::harness::warden
