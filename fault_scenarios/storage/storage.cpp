#include "fault_scenarios/storage/storage.hpp"

namespace lastref::harness {

std::vector<Scenario> storage_scenarios() {
  return {
      a_file_may_not_be_so_long(),
      a_full_dump_leaves_nothing(),
      a_full_first_dump_goes_elsewhere(),
      no_inode_is_left_for_a_dump(),
      shared_memory_becomes_forbidden(),
      shared_memory_is_forbidden(),
      two_threads_find_no_space(),
  };
}

}  // namespace lastref::harness
