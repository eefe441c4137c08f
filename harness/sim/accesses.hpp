// Accesses: what the running step of a simulated run accesses that other processes may access, too.
//
// The kernel notes an access where it makes it. What no kernel function notes, and what is unclear,
// is an access to everything. Two things are left out, because no call makes them: the clock, of
// which a step more or less moves a time by less than a microsecond; and accesses to mapped bytes
// other than words, which calls and words have to order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/choice/footprint.hpp"

namespace lastref::harness::sim {

/// What processes share, apart from files, sockets, pipes and processes.
enum class Shared : std::uint8_t {
  storage,     ///< space and inodes, if they are limited
  listeners,   ///< sockets that may be connected to
  pids,        ///< numbers of processes and threads
  output,      ///< on descriptors 1 and 2
  stores,      ///< to mapped files, which a process sees late; see LateStores
  operations,  ///< recorded: begins read it, and ends write it
  judged,      ///< The order of names and operations, which oracles see in the journal
};

/// A part of an object that has a number.
enum class Part : std::uint8_t {
  shared,       ///< one of Shared, or everything
  process,      ///< what its threads share
  death,        ///< whether it was waited for
  entry,        ///< of a folder, by its name
  entries,      ///< of a folder: which there are
  order,        ///< of the entries of a folder, in which they are listed
  attributes,   ///< of an inode: mode, number of names, parent, the socket that is bound to it
  size,         ///< of a file
  content,      ///< of a file, by the byte
  maps,         ///< of a file: whether there are any
  offset,       ///< of an open description
  locks,        ///< of a file, by the byte
  lock_owners,  ///< of a file: their order, in which they are found
  socket,       ///< its state
  sent,         ///< packets by a socket: their order
  received,     ///< packets from a socket: their order
  packet,       ///< to a socket, by its position in the stream
  cost,         ///< of what a socket has sent and its peer has not received
  pipe,
  signal,  ///< of the scenario, by its name; see Stage::tell
};

class Accesses {
 public:
  /// Nothing is noted while it is false.
  bool are_noted = false;

  /// The running step accesses that part of the object with that number. `detail` tells apart what
  /// the part consists of.
  void touch(Part part, std::uint64_t object, Access access, std::uint64_t detail = 0);
  void touch(Part part, std::uint64_t object, Access access, std::string_view name);
  /// The part consists of positions from 0, and the step accesses those before `end`.
  void touch_range(
      Part part, std::uint64_t object, Access access, std::uint64_t begin, std::uint64_t end);
  void touch(Shared what, Access access);
  /// The order of the running step and every other one matters.
  void touch_all();
  /// The running step ends. It was one of the process with that number. The result is sorted and
  /// valid until the next access.
  std::span<const ObjectAccess> end_step(std::uint64_t process);

 private:
  Footprint noted_;
  bool is_over_ = false;
};

}  // namespace lastref::harness::sim
