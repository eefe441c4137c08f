// RunLog: what a run did, in order: its journal, and the steps that are not crossings.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/journal/record.hpp"

namespace lastref::harness {

/// Whether a call changes nothing that another actor can observe.
constexpr bool only_reads(Call call) noexcept {
  switch (call) {
    case Call::read_at:
    case Call::status:
    case Call::status_at:
    case Call::read_link:
    case Call::read_folder:
    case Call::free_space:
    case Call::file_system:
    case Call::working_folder:
    case Call::map:
    case Call::find_lock:
    case Call::peer_of:
    case Call::poll:
    case Call::open_process:
      return true;
    default:
      return false;
  }
}

/// A step on an object that only threads of one process share, or a switch: a moment at which
/// another actor than the usual one continued. Only the simulated kernel records them.
struct RunStep {
  std::uint32_t record = 0;  ///< The number of records before it
  std::uint16_t process = 0;
  std::uint16_t actor = 0;  ///< Of a switch: the one that ran until then
  std::uint16_t to = 0;     ///< Of a switch: the actor that continued,
  std::uint16_t usual = 0;  ///< and the one that would have; `actor` if it could continue
  bool is_switch = false;
  bool writes = false;
  RoleText role;
  RoleText to_role;
  RoleText usual_role;
  NameText name;      ///< Of a step: "lock", "store"
  ObjectText object;  ///< Of a step: "monitor 2", numbered in its process
};

struct RunLog {
  std::vector<Record> records;
  std::vector<RunStep> steps = {};
};

}  // namespace lastref::harness
