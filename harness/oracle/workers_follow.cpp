// workers-follow: a worker ends with its parent, whatever it is doing.
//
// An idle worker sees the end of its pipes. A worker with an endless task can learn of it only
// from the parent's death. It has time until no process of the run can continue.
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/oracle/registered_oracle.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness::oracle {
namespace {

class WorkersFollow {
 public:
  explicit WorkersFollow(const Evidence& evidence) : evidence_(evidence) {}

  Judgement take() {
    complain();
    return std::move(judgement_);
  }

  void read(const Record& record) {
    if (is_fact(record, fact::born)) {
      workers_[record.process] = {.role = record.role.view(), .parent = record.text.view()};
    } else if (is_fact(record, fact::died)) {
      workers_.erase(record.process);
      dead_.insert(record.role.view());
      for (auto& [process, worker] : workers_) {
        orphan(worker);
      }
    } else if (is_fact(record, fact::let_down) || is_fact(record, fact::hang)) {
      complain();
    } else if (record.name == "serve") {
      Worker& worker = workers_[record.process];
      worker.serves = record.kind == RecordKind::operation_begin;
      orphan(worker);  // Its parent may have died before.
    }
  }

 private:
  struct Worker {
    std::string_view role = {};
    std::string_view parent = {};
    bool serves = false;
    bool is_orphan = false;
    bool was_orphaned = false;  ///< Then it was checked, once.
  };

  void orphan(Worker& worker) {
    if (worker.serves && !worker.was_orphaned && dead_.contains(worker.parent)) {
      worker.is_orphan = true;
      worker.was_orphaned = true;
      ++judgement_.look.seen;
      ++judgement_.look.filled;
    }
  }

  void complain() {
    for (auto& [process, worker] : workers_) {
      if (worker.is_orphan && !cannot_follow(worker)) {
        judgement_.findings.push_back(
            {.claim = "workers-follow: a worker ends with its parent, whatever it is doing",
             .seen = std::string(worker.role) + " is still running, and " +
                     std::string(worker.parent) + " is dead"});
      }
      worker.is_orphan = false;
    }
  }

  /// A worker that can neither learn of the death nor die is excused.
  bool cannot_follow(const Worker& worker) const {
    return std::ranges::any_of(evidence_.plan.faults, [&](const Fault& fault) {
      return fails_for_ever(fault, worker.role, name_of(Call::signal_process));
    });
  }

  const Evidence& evidence_;
  std::map<std::uint16_t, Worker> workers_;
  std::set<std::string_view> dead_;
  Judgement judgement_;
};

/// No worker is alive when its parent is dead and no process of the run can continue.
Judgement workers_follow(const Evidence& evidence) {
  WorkersFollow oracle(evidence);
  for (const Record& record : evidence.notable()) {
    oracle.read(record);
  }
  return oracle.take();
}

const RegisteredOracle registered_workers_follow("workers-follow",
                                                 Concern::leftovers,
                                                 workers_follow);

}  // namespace
}  // namespace lastref::harness::oracle
