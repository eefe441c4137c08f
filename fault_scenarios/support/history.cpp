#include "fault_scenarios/support/history.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/choice/choices.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view then_word = "then";
/// Signals of a run are few, and each ordered operation needs one.
constexpr std::size_t operations_max = 40;
constexpr std::size_t drawn_min = 4;
/// One operation in so many is drawn without asking the model.
constexpr std::size_t nonsense_one_in = 20;
constexpr std::size_t rare_one_in = 4;
constexpr std::size_t tries_for_sense = 40;

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

tl::unexpected<FormError> wrong(std::string_view part, std::string allowed) {
  return tl::unexpected(FormError{.part = std::string(part), .allowed = std::move(allowed)});
}

std::string names_of_verbs(const Vocabulary& vocabulary) {
  std::vector<std::string_view> names;
  std::ranges::transform(vocabulary.verbs, std::back_inserter(names), &Verb::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Words of one operation: [then] process verb [object...]
tl::expected<HistoryOperation, FormError> parse_operation(const Vocabulary& vocabulary,
                                                          std::string_view text) {
  std::vector<std::string_view> words = parts_of(text, ' ');
  HistoryOperation operation;
  if (!words.empty() && words.front() == then_word) {
    operation.is_then = true;
    words.erase(words.begin());
  }
  if (words.empty() || std::ranges::count(vocabulary.processes, words.front()) == 0) {
    return wrong(text, fmt::format("{}", fmt::join(vocabulary.processes, ", ")));
  }
  const Verb* const verb = words.size() < 2 ? nullptr : vocabulary.verb_named(words[1]);
  if (verb == nullptr) {
    return wrong(text, names_of_verbs(vocabulary));
  }
  operation.process = words[0];
  operation.verb = words[1];
  for (std::size_t at = 0; at < verb->objects.size(); ++at) {
    const auto& allowed = verb->objects[at];
    if (at + 2 >= words.size() || std::ranges::count(allowed, words[at + 2]) == 0) {
      return wrong(text, fmt::format("{}", fmt::join(allowed, ", ")));
    }
    operation.objects.emplace_back(words[at + 2]);
  }
  if (words.size() != verb->objects.size() + 2) {
    return wrong(text, fmt::format("{} objects", verb->objects.size()));
  }
  return operation;
}

/// Changes one operation after the other.
template <typename Change>
void add_changed(const OperationList& all, std::vector<OperationList>& into, Change change) {
  for (std::size_t at = 0; at < all.size(); ++at) {
    OperationList changed = all;
    change(changed[at]);
    if (changed != all) {
      into.push_back(std::move(changed));
    }
  }
}

void add_shorter(const OperationList& all, std::vector<OperationList>& into) {
  for (std::size_t part = (all.size() + 1) / 2; part > 0; part /= 2) {
    for (std::size_t at = 0; at < all.size(); at += part) {
      OperationList shorter = all;
      const auto first = shorter.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = static_cast<std::ptrdiff_t>(std::min(part, all.size() - at));
      shorter.erase(first, first + size);
      into.push_back(std::move(shorter));
    }
  }
}

/// All operations of a process are those of an earlier one.
void add_with_fewer_processes(const Vocabulary& vocabulary,
                              const OperationList& all,
                              std::vector<OperationList>& into) {
  for (std::size_t from = vocabulary.processes.size(); from-- > 0;) {
    for (std::size_t to = 0; to < from; ++to) {
      OperationList merged = all;
      for (HistoryOperation& each : merged) {
        if (each.process == vocabulary.processes[from]) {
          each.process = vocabulary.processes[to];
        }
      }
      if (merged != all) {
        into.push_back(std::move(merged));
      }
    }
  }
}

void add_with_simpler_objects(const Vocabulary& vocabulary,
                              const OperationList& all,
                              std::vector<OperationList>& into) {
  // In all operations at once: what they share remains shared.
  std::set<std::string_view> objects;
  for (const HistoryOperation& each : all) {
    objects.insert(each.objects.begin(), each.objects.end());
  }
  for (const std::string_view object : objects) {
    OperationList simpler = all;
    for (HistoryOperation& each : simpler) {
      const Verb& verb = *vocabulary.verb_named(each.verb);
      for (std::size_t at = 0; at < each.objects.size(); ++at) {
        if (each.objects[at] == object) {
          each.objects[at] = verb.objects[at].front();
        }
      }
    }
    if (simpler != all) {
      into.push_back(std::move(simpler));
    }
  }
  add_changed(all, into, [&](HistoryOperation& each) {
    const Verb& verb = *vocabulary.verb_named(each.verb);
    for (std::size_t at = 0; at < each.objects.size(); ++at) {
      each.objects[at] = verb.objects[at].front();
    }
  });
}

using Words = std::vector<std::string_view>;

/// How the operations of one history are drawn.
struct Enabled {
  Words processes;
  std::vector<Verb> verbs;
  // Of four operations:
  std::size_t same_process = 0;
  std::size_t same_objects = 0;
  std::size_t ordered = 0;
};

/// The first, and each of the others or not.
Words some_of(const Words& all, Draw& draw) {
  Words some;
  std::ranges::copy_if(all, std::back_inserter(some), [&](std::string_view each) {
    return each == all.front() || draw.one_in(2);
  });
  return some;
}

/// Few verbs and objects lead to more that one does after another.
Enabled draw_enabled(const Vocabulary& vocabulary, Draw& draw) {
  Enabled enabled{.processes = some_of(vocabulary.processes, draw),
                  .verbs = {},
                  .same_process = draw.below(4),
                  .same_objects = draw.below(4),
                  .ordered = draw.below(5)};
  std::map<Words, Words> drawn;  // The same for equal lists.
  for (const Verb& each : vocabulary.verbs) {
    if (each.use != Verb::Use::basic && !draw.one_in(2)) {
      continue;
    }
    Verb& verb = enabled.verbs.emplace_back(each);
    for (Words& objects : verb.objects) {
      objects = drawn.try_emplace(objects, some_of(objects, draw)).first->second;
    }
  }
  return enabled;
}

HistoryOperation draw_operation(const Enabled& enabled, const OperationList& drawn, Draw& draw) {
  const Verb& first = draw.of(enabled.verbs);
  const bool is_again = first.use == Verb::Use::rare && !draw.one_in(rare_one_in);
  const Verb& verb = is_again ? draw.of(enabled.verbs) : first;
  HistoryOperation operation{.process = std::string(draw.of(enabled.processes)),
                             .verb = std::string(verb.name),
                             .objects = {}};
  for (const Words& objects : verb.objects) {
    operation.objects.emplace_back(draw.one_in(2) ? objects.front() : draw.of(objects));
  }
  if (drawn.empty()) {
    return operation;
  }
  if (draw.below(4) < enabled.same_process) {
    operation.process = drawn.back().process;
  }
  if (draw.below(4) < enabled.same_objects) {
    for (const std::string& each : drawn.back().objects) {
      for (std::size_t at = 0; at < verb.objects.size(); ++at) {
        if (std::ranges::count(verb.objects[at], each) > 0) {
          operation.objects[at] = each;
        }
      }
    }
  }
  return operation;
}

bool is_repeated(const OperationList& drawn, const HistoryOperation& operation) {
  return !drawn.empty() && drawn.back().process == operation.process &&
         drawn.back().verb == operation.verb && drawn.back().objects == operation.objects;
}

/// Whether the operation waits for the one in front of it.
bool is_awaited(const OperationList& operations, std::size_t at) {
  return at > 0 && operations[at].is_then && operations[at - 1].process != operations[at].process;
}

/// The signal of the end of an operation.
std::string is_over(std::size_t at) {
  return "operation " + std::to_string(at) + " is over";
}

void report_end(Stage& stage, const OperationList& operations, std::size_t at) {
  if (at + 1 < operations.size() && is_awaited(operations, at + 1)) {
    stage.tell(is_over(at));
  }
}

/// Of a process that carries out none any more
void report_ends(Stage& stage, const OperationList& operations, std::string_view process) {
  for (std::size_t at = 0; at < operations.size(); ++at) {
    if (operations[at].process == process) {
      report_end(stage, operations, at);
    }
  }
}

}  // namespace

const Verb* Vocabulary::verb_named(std::string_view name) const noexcept {
  const auto found = std::ranges::find(verbs, name, &Verb::name);
  return found == verbs.end() ? nullptr : &*found;
}

std::string to_text(const OperationList& operations) {
  std::string text;
  for (const HistoryOperation& each : operations) {
    text += fmt::format("{}{}{} {}",
                        text.empty() ? "" : ", ",
                        each.is_then ? "then " : "",
                        each.process,
                        each.verb);
    for (const std::string& object : each.objects) {
      text += ' ' + object;
    }
  }
  return text;
}

tl::expected<OperationList, FormError> parse_history(const Vocabulary& vocabulary,
                                                     std::string_view text) {
  OperationList operations;
  for (const std::string_view part : parts_of(text, ',')) {
    auto operation = parse_operation(vocabulary, part);
    if (!operation) {
      return tl::unexpected(std::move(operation.error()));
    }
    operations.push_back(*std::move(operation));
  }
  if (operations.size() > operations_max) {
    return wrong(fmt::format("{} operations", operations.size()),
                 fmt::format("{} at most", operations_max));
  }
  return operations;
}

tl::expected<void, FormError> check_history(const Vocabulary& vocabulary, std::string_view text) {
  return parse_history(vocabulary, text).map([](const OperationList&) {});
}

std::vector<std::string> smaller_histories(const Vocabulary& vocabulary, std::string_view text) {
  const auto all = parse_history(vocabulary, text);
  LASTREF_ASSERT(all.has_value());
  std::vector<OperationList> smaller;
  add_shorter(*all, smaller);
  add_with_fewer_processes(vocabulary, *all, smaller);
  add_with_simpler_objects(vocabulary, *all, smaller);
  add_changed(*all, smaller, [](HistoryOperation& each) { each.is_then = false; });
  std::vector<std::string> texts;
  for (const OperationList& each : smaller) {
    texts.push_back(to_text(each));
  }
  return texts;
}

std::size_t Draw::below(std::size_t end) noexcept {
  return static_cast<std::size_t>(next_random(state_) % end);
}

OperationList draw_history(const Vocabulary& vocabulary, HistoryModel& model, std::uint64_t seed) {
  Draw draw(seed);
  const Enabled enabled = draw_enabled(vocabulary, draw);
  const std::size_t size = drawn_min + draw.below(vocabulary.drawn_max - drawn_min + 1);
  OperationList drawn;
  while (drawn.size() < size) {
    HistoryOperation operation = draw_operation(enabled, drawn, draw);
    const bool may_be_nonsense = draw.one_in(nonsense_one_in);
    for (std::size_t tries = 0; !may_be_nonsense && tries < tries_for_sense &&
                                (!model.is_sensible(operation) || is_repeated(drawn, operation));
         ++tries) {
      operation = draw_operation(enabled, drawn, draw);
    }
    operation.is_then = !drawn.empty() && drawn.back().process != operation.process &&
                        draw.below(4) < enabled.ordered;
    model.apply(operation);
    drawn.push_back(std::move(operation));
  }
  return drawn;
}

void carry_out(Stage& stage,
               const OperationList& operations,
               std::string_view process,
               const std::function<bool(const HistoryOperation&)>& act) {
  bool goes_on = true;
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const HistoryOperation& operation = operations[at];
    if (operation.process != process) {
      continue;
    }
    if (goes_on && is_awaited(operations, at)) {
      stage.await(is_over(at - 1));
    }
    goes_on = goes_on && act(operation);
    report_end(stage, operations, at);
  }
}

Status carry_out_in_threads(Stage& stage,
                            const OperationList& operations,
                            const std::vector<std::string>& others,
                            const std::function<void(const HistoryOperation&)>& act) {
  const auto run = [&](std::string_view process) {
    carry_out(stage, operations, process, [&](const HistoryOperation& each) {
      act(each);
      return true;
    });
  };
  Status started = ok();
  std::vector<std::unique_ptr<os::Thread>> threads;
  for (const std::string& each : others) {
    const Status done = stage.product().operation("start a thread", [&]() -> Status {
      LASTREF_TRY(thread, stage.os().start_thread([&run, &each] {
        const AllocationScope scope(/*is_products=*/false);
        run(each);
      }));
      const AllocationScope scope(/*is_products=*/false);
      threads.push_back(std::move(thread));
      return ok();
    });
    if (!done) {
      report_ends(stage, operations, each);
    }
    started = first_failure({started, done});
  }
  run(stage.role());
  for (const auto& each : threads) {
    each->join();
  }
  return started;
}

void kill(Stage& stage, const OperationList& operations, const std::string& role) {
  // It may not have been started yet.
  if (role == stage.role() || stage.processes(role) == 0) {
    return;
  }
  stage.kill(role);
  report_ends(stage, operations, role);
  stage.tell(role + " is done");
}

bool is_of(const HistoryOperation& operation, std::string_view process, std::string_view verb) {
  return operation.process == process && operation.verb == verb;
}

bool is_kill_of(const HistoryOperation& operation, std::string_view role) {
  return operation.verb == "kill" && operation.object() == role;
}

bool is_early_end(const HistoryOperation& operation) {
  return operation.verb == "exit" || operation.verb == "kill";
}

bool may_end_tracker(const HistoryOperation& operation) {
  return is_of(operation, "root", "exit") || is_kill_of(operation, "tracker");
}

std::vector<std::string> others_in(const Vocabulary& vocabulary, const OperationList& operations) {
  std::vector<std::string> others;
  for (const std::string_view each : vocabulary.processes) {
    if (each != vocabulary.processes.front() &&
        std::ranges::count(operations, each, &HistoryOperation::process) > 0) {
      others.emplace_back(each);
    }
  }
  return others;
}

std::optional<bool> Presence::is_sensible(const HistoryOperation& operation) const {
  if (gone_.contains(operation.process)) {
    return false;
  }
  if (operation.verb == "exit") {
    return operation.process != "root" && seen_.contains(operation.process);
  }
  if (operation.verb == "kill") {
    const std::string& target = operation.object();
    const auto& processes = vocabulary_.processes;
    const bool is_process = std::ranges::find(processes, target) != processes.end();
    return !is_process || (target != operation.process && is_here(target));
  }
  return std::nullopt;
}

void Presence::apply(const HistoryOperation& operation) {
  seen_.insert(operation.process);
  if (operation.verb == "exit") {
    gone_.insert(operation.process);
  } else if (operation.verb == "kill") {
    gone_.insert(operation.object());
  }
}

RoleOf roles_of(Party party) {
  return [party](const std::string& name) -> std::string {
    const bool is_thread =
        party == Party::thread || (party == Party::both && name != "a" && name != "root");
    return is_thread ? "root" : name;
  };
}

HistoryPart::HistoryPart(Stage& stage,
                         const Vocabulary& vocabulary,
                         std::string_view text,
                         const RoleOf& role_of)
    : stage_(stage), operations_(parse_history(vocabulary, text).value()) {
  for (const std::string& each : others_in(vocabulary, operations_)) {
    const std::string role = role_of(each);
    if (role == stage.role()) {
      if (each != role) {
        threads_.push_back(each);
      }
    } else if (role != "root" && std::ranges::count(others_, role) == 0) {
      others_.push_back(role);
    }
  }
}

Status HistoryPart::enter() const {
  return is_root() ? stage_.product().lead() : stage_.product().join();
}

bool HistoryPart::await_others() const {
  bool all_ended = true;
  for (const std::string& each : others_) {
    all_ended = stage_.await(each + " is done") && all_ended;
  }
  return all_ended;
}

std::vector<std::string> noise_of_deaths() {
  return {"the tracker was killed by signal 9; starting another",
          "the last process of the tree has ended: removing",
          "gave up: ",
          "is known by its name alone",
          "holds an unknown name",
          "forgets an unknown name",
          "releases an unknown name",
          "releases a name that it does not hold"};
}

}  // namespace lastref::harness
