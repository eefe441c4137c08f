// Operations: finds the operation of the product in which a crossing was made.
//
// Operations nest, separately in each thread. A call outside of any operation on the first thread
// of a role is the scenario's own, and the scenario gets its error; on another thread it is the
// product's.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/journal/record.hpp"
#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// The role that leads the tree of the run: the first one that has led a tree; "root" if that has
/// led one too, or none has. Before the root leads, another role may have had a tree that dies.
std::string_view leader_in(const Evidence& evidence);

/// An operation that ends a membership or object permanently.
bool is_last(std::string_view operation) noexcept;

class Operations {
 public:
  using Names = std::vector<std::string_view>;

  /// The next record of the journal. Views into it are kept.
  void read(const Record& record);

  /// The operations in progress in the thread of `record`, the innermost last.
  const Names& of_thread(const Record& record) const;
  /// The operations in progress in any thread of its process.
  const Names& of_process(const Record& record) const;
  /// Whether the scenario itself made the call.
  bool is_own(const Record& record) const;

 private:
  using Thread = std::pair<std::uint16_t, std::uint16_t>;  ///< process and actor

  std::vector<std::int32_t> first_actor_;  ///< By process; below 0: none yet
  std::map<std::uint16_t, Names> open_;
  std::map<Thread, Names> open_of_thread_;
};

}  // namespace lastref::harness::oracle
