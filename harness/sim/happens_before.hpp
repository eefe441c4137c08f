// HappensBefore: a hash of the state that a run has come to, from which steps have met on which
// objects, and in which order.
//
// A step is all that an actor does between two questions. Two steps are ordered if they are of one
// process, or if both access an object and one of them writes it. The order of all others does not
// matter: runs that differ only in it come to the same state, and get the same hash (Mazurkiewicz
// 1987; Musuvathi, Qadeer 2007). What processes share without a call is left out: the clock, of
// which a step more or less moves a time by less than a microsecond.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace lastref::harness::sim {

enum class Access : std::uint8_t { read, write };

/// What processes share, apart from files, sockets and pipes.
enum class Shared : std::uint8_t {
  names,       ///< of files and folders
  sizes,       ///< of files; what changes one of them reads it, and what depends on all writes it
  listeners,   ///< sockets that may be connected to
  pids,        ///< numbers of processes and threads
  output,      ///< on descriptors 1 and 2
  signals,     ///< of the scenario; see Stage::tell
  operations,  ///< recorded: begins read it, and ends write it
  count,
};

class HappensBefore {
 public:
  /// The current step accesses an object, which is told from others by its address.
  void touch(const void* object, Access access);
  void touch(Shared what, Access access);
  /// The order of the current step and every other one matters.
  void touch_all();
  /// The current step ends. It was one of this actor, in the process that has this address.
  void end_step(std::uint32_t actor, const void* process);

  /// Of all steps that have ended; not 0.
  std::uint64_t state() const noexcept { return sum_ | 1U; }

 private:
  struct Accesses {
    std::uint64_t write = 0;  ///< The last step that has written it
    std::uint64_t reads = 0;  ///< The sum of those that have read it since
  };

  std::unordered_map<const void*, Accesses> objects_;
  std::unordered_map<const void*, Access> touched_;  ///< By the current step
  std::uint64_t sum_ = 0;
};

}  // namespace lastref::harness::sim
