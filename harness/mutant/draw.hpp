// Draw: new mutants, made by small changes at places that a seed selects.
//
// They are spread evenly: the next one is in the room with the fewest mutants, and by the operator
// used least of those that the room offers. The same seed and sources give the same mutants in the
// same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

#include "harness/choice/choices.hpp"
#include "harness/mutant/edits.hpp"
#include "harness/spec/mutant.hpp"

namespace lastref::harness {

/// A file of the product.
struct Source {
  std::string path;  ///< from the checkout: "impl/tracker/daemon.cpp"
  std::string text;
};

/// All sources and headers of the rooms, by path. Fails with io_error if there are none.
Result<std::vector<Source>> read_sources(const std::string& checkout);

/// "tracker". A header that the library's users include is in no room, and has an empty name.
std::string_view room_of_source(std::string_view path) noexcept;

struct Drawn {
  std::string name;  ///< of the mutant: "drop_statement_tracker_daemon_95_5"
  const Source* source = nullptr;
  Edit edit;
};

class Draw {
 public:
  Draw(std::vector<Source> sources, std::uint64_t seed);

  /// The next mutant; nothing when there are no more.
  std::optional<Drawn> next();
  /// Excludes a mutant that does not compile: its room gets another one.
  void refuse(const Drawn& drawn);

  std::uint64_t seed() const noexcept { return seed_; }

 private:
  struct Place {
    std::size_t source = 0;  ///< index
    Edit edit;
  };
  using Operators = std::map<Operator, std::vector<Place>>;

  std::optional<std::string_view> room_with_fewest();
  Operator operator_with_fewest(const Operators& operators);
  /// One of them, at random.
  template <typename Key>
  Key one_of(const std::vector<Key>& keys);

  std::uint64_t seed_;
  std::vector<Source> sources_;
  std::map<std::string_view, Operators> rooms_;
  std::map<std::string_view, std::size_t> taken_of_room_;
  std::map<Operator, std::size_t> taken_by_operator_;
  ListedChoices choices_;
};

/// The file of a drawn mutant, with the header that every mutant has. Its row is that of its room's
/// letter with the number 0, which no test names.
std::string patch_of(const Drawn& drawn, std::uint64_t seed);

}  // namespace lastref::harness
