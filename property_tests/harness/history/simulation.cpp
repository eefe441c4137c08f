#include "property_tests/harness/history/simulation.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace lastref::pretend {
namespace {

using harness::oracle::Ending;
using harness::oracle::History;
using harness::oracle::is_sound;
using harness::oracle::Moment;
using harness::oracle::never;
using harness::oracle::Operation;
using harness::oracle::OperationKind;
using harness::oracle::Refusals;

class Simulation {
 public:
  Simulation(const SimulationOptions& options, std::mt19937_64& chance)
      : options_(options), chance_(chance) {}

  History run() {
    History history;
    for (std::uint32_t actor = 0; actor < options_.actors; ++actor) {
      std::string name("worker_");
      history.actors.push_back(name.append(std::to_string(actor)));
    }
    history.refusals = options_.refusals.value_or(static_cast<Refusals>(below(3)));
    refusals_ = history.refusals;
    for (std::size_t at = 0; at < options_.operations; ++at) {
      now_ += below(3);
      if (refusals_ == Refusals::at_a_limit && one_in(options_.one_in_freezes)) {
        frozen_ = true;
      }
      history.operations.push_back(next());
    }
    std::ranges::shuffle(history.operations, chance_);
    return history;
  }

 private:
  std::uint64_t below(std::uint64_t end) { return chance_() % end; }
  bool one_in(std::uint32_t count) { return count != 0 && below(count) == 0; }

  Operation next() {
    Operation operation;
    operation.actor = static_cast<std::uint32_t>(below(options_.actors));
    operation.invoked = now_ - std::min(now_, below(options_.reach + 1));
    operation.returned = now_ + below(options_.reach + 1);
    const bool pending = one_in(options_.one_in_pending);
    const bool failed = !pending && one_in(options_.one_in_failed);
    const bool happens = (!pending && !failed) || one_in(2);
    if (one_in(options_.one_in_freezes)) {
      operation.kind = OperationKind::freeze;
      operation.ending = one_in(4) ? Ending::no : Ending::yes;
      frozen_ = frozen_ || (happens && operation.ending == Ending::yes);
    } else {
      operation.slot = below(options_.slots);
      operation.kind = one_in(2) ? OperationKind::get : OperationKind::put;
      if (operation.kind == OperationKind::get) {
        answer_get(operation);
      } else {
        answer_put(operation, happens);
      }
    }
    if (pending || failed) {
      operation.ending = pending ? Ending::pending : Ending::failed;
      operation.returned = pending ? never : operation.returned;
      operation.value = operation.kind == OperationKind::get ? 0 : operation.value;
    }
    return operation;
  }

  void answer_get(Operation& get) {
    const auto found = values_.find(get.slot);
    get.ending = found == values_.end() ? Ending::nothing : Ending::value;
    get.value = found == values_.end() ? 0 : found->second;
  }

  void answer_put(Operation& put, bool happens) {
    put.value = below(options_.values);
    const bool refused = frozen_ || (refusals_ == Refusals::at_any_time && one_in(4));
    const bool takes = !refused && !values_.contains(put.slot);
    put.ending = takes ? Ending::yes : Ending::no;
    if (takes && happens) {
      values_.emplace(put.slot, put.value);
    }
  }

  const SimulationOptions& options_;
  std::mt19937_64& chance_;
  Refusals refusals_{};
  Moment now_ = 0;
  bool frozen_ = false;
  std::unordered_map<std::uint64_t, std::uint64_t> values_;
};

}  // namespace

History simulate(const SimulationOptions& options, std::mt19937_64& chance) {
  return Simulation(options, chance).run();
}

void mutate(History& history, std::mt19937_64& chance) {
  if (history.operations.empty()) {
    return;
  }
  Operation& changed = history.operations[chance() % history.operations.size()];
  const Operation before = changed;
  switch (chance() % 5) {
    case 0:
      changed.ending = static_cast<Ending>(chance() % 6);
      changed.returned = changed.ending == Ending::pending ? never : changed.invoked + chance() % 4;
      break;
    case 1:
      changed.value =
          changed.kind == OperationKind::put || changed.ending == Ending::value ? chance() % 3 : 0;
      break;
    case 2:
      changed.invoked = chance() % 8;
      break;
    case 3:
      changed.returned = changed.returned == never ? never : changed.invoked + chance() % 4;
      break;
    default:
      history.refusals = static_cast<Refusals>(chance() % 3);
  }
  if (!is_sound(changed)) {
    changed = before;
  }
}

}  // namespace lastref::pretend
