#include "harness/explore/known_plans.hpp"

namespace lastref::harness {

const std::vector<KnownPlan>& known_plans() {
  static const std::vector<KnownPlan> all = {
      // A pool that cannot wake its thread takes no more tasks, while the thread still has some.
      {.scenario = "jobs/pool_gives_up_tasks",
       .faults = {"root/write(pipe.write)#3 fail_always EIO"},
       .seed = 129},
      // Half of a worker's last answer is read when its death is known.
      {.scenario = "jobs/last_answer_of_dead_worker_counts",
       .faults = {"root/read(pipe.read)#1 shorten"}},
      // A tracker dies when no process can join it any more, and when only its lock is left.
      {.scenario = "tracker/lock_is_taken_during_tracker_exit",
       .faults = {"tracker/unlink(socket)#1 kill_before"}},
      {.scenario = "tracker/lock_is_taken_during_tracker_exit",
       .faults = {"tracker/unlink(lock)#1 kill_before"}},
      // The last messages of a dead process are not read before its death is known.
      {.scenario = "tracker/last_release_of_dead_process_counts",
       .faults = {"tracker/receive(conn:root)#5 fail_once EAGAIN"}},
      // A name is to be forgotten during its cleanup.
      {.scenario = "tracker/name_is_reused_during_cleanup",
       .faults = {"tracker/read_folder(first)#1 pause"}},
      // The other name is registered again while it waits for its turn.
      {.scenario = "tracker/name_is_reused_during_cleanup",
       .faults = {"tracker/make_pipe()#1 pause"},
       .seed = 12},
      // A name cannot be unlinked several times: the end of the tree is another try.
      {.scenario = "tracker/last_process_leaves_each_type",
       .faults = {"tracker/unlink_shm(lastref-left)#1 fail_once EACCES",
                  "tracker/unlink_shm(lastref-left)#2 fail_once EACCES",
                  "tracker/unlink_shm(lastref-left)#3 fail_once EACCES"}},
      // The message that a name was forgotten is still unread when it is held again.
      {.scenario = "tracker/forgotten_name_is_held_again", .faults = {"client_a/poll()#2 pause"}},
      // A restarted tracker reads the forget, and the next register, before a holder has announced.
      {.scenario = "tracker/forgotten_name_is_held_again",
       .faults = {"tracker/poll()#4 kill_blocked", "client_a/shut_down(tracker)#1 pause"}},
      // A name that could not be removed is registered again, and the ledger refuses it.
      {.scenario = "arrays/context_is_reused",
       .faults = {"tracker/remove_folder(arrays:call)#1 fail_in_all EBUSY",
                  "tracker/write_at(ledger)#16 fail_always EIO"}},
      // No thread can be started for the cleanup.
      {.scenario = "tracker/huge_folder_blocks_no_client",
       .faults = {"tracker/start_thread()#1 fail_once EAGAIN"}},
      // Two threads find that a cache has outgrown its map.
      {.scenario = "caches/threads_share_cache", .faults = {"root/word_load()#8 pause"}},
  };
  return all;
}

}  // namespace lastref::harness
