#include "harness/explore/known_plans.hpp"

namespace lastref::harness {

const std::vector<KnownPlan>& known_plans() {
  static const std::vector<KnownPlan> all = {
      // Who stands by cannot listen any more, and leaves the end of the pool to the leader, which
      // goes on only when nobody else can.
      {.scenario = "jobs/a_message_is_longer_than_a_pipe",
       .faults = {"root/poll()#3 fail_always ENOMEM", "root/poll()#9 pause"}},
      // Half of a worker's last answer is read when it is known to be dead.
      {.scenario = "jobs/the_last_answer_of_a_dead_worker_counts",
       .faults = {"root/read(pipe.read)#1 shorten"}},
      // One hearer ends the workers while the other one finds that it can be woken no more. Were it
      // to kill them, it would do so at the pause.
      {.scenario = "jobs/the_tracker_of_a_job_is_killed",
       .faults = {"root/read(pipe.read)#6 fail_always EIO",
                  "root/signal_process(process:worker_1)#1 pause"}},
  };
  return all;
}

}  // namespace lastref::harness
