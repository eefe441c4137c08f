// no-leak: every name that was created is removed.
#include <algorithm>
#include <cerrno>
#include <map>

#include <lastref/call.hpp>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/file_readers.hpp"
#include "harness/oracle/holdings.hpp"
#include "harness/oracle/leftovers.hpp"
#include "harness/oracle/operations.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/whole_files.hpp"
#include "harness/scenario/ambient.hpp"

namespace lastref::harness::oracle {
namespace {

/// The number of times that a tracker tries to remove a name when it lacks the permission. For the
/// names of its own tree it tries less often, but no plan makes as many faults there.
constexpr std::size_t attempts = 10;

/// The number of trackers that the root starts, if each of them dies within a second.
constexpr std::size_t trackers_max = 3;

/// Whether the only failure is that the tracker may not remove one name, fewer times than it tries.
/// `record` belongs to one of the faults.
bool is_one_refusal(std::span<const Fault> faults, const Record& record) {
  const auto refuses = [&first = faults.front().site](const Fault& fault) {
    return fault.kind == FaultKind::fail_once && (fault.error == EACCES || fault.error == EPERM) &&
           base_of(fault.site.role) == base_of(first.role) && fault.site.name == first.name &&
           fault.site.object == first.object;
  };
  return is_tracker(record) && is_removal(record.call) && faults.size() < attempts &&
         std::ranges::all_of(faults, refuses);
}

/// Whether names may remain because of a planned error: the tracker needs the call, or it was not
/// the only failure.
bool may_leave(const Evidence& evidence, const Record& record) {
  const bool is_for_ever = std::ranges::any_of(evidence.plan.faults, [&](const Fault& fault) {
    return fails_for_ever(fault, record.role.view(), record.name.view());
  });
  const bool is_needed =
      is_for_ever && is_tracker(record) &&
      (record.name == allocation_site ||
       (record.call != Call::none && has(row_of(record.call).traits, Traits::needed)));
  // If all trackers die of the same fault, the root starts only a few.
  const bool is_in_all =
      is_tracker(record) && std::ranges::any_of(evidence.plan.faults, [](const Fault& fault) {
        return fault.kind == FaultKind::fail_in_all;
      });
  return is_in_all || is_needed ||
         (has_two_faults(evidence) && !is_one_refusal(evidence.plan.faults, record));
}

/// Why no process could clean up at once: a needed call failed, the whole tree was killed, or the
/// last tracker was killed after the root had left the tree or had started as many as it may, so
/// that none started another.
Waiver why_not_at_once(const Evidence& evidence) {
  bool tracker_was_killed = false;
  bool tracker_gave_up = false;
  std::size_t trackers_killed = 0;
  bool tracker_ever = false;
  bool root_was_killed = false;
  bool root_leaves = false;
  bool root_gave_up = false;      // for lack of descriptors
  bool root_was_leaving = false;  // when the last tracker was killed
  bool has_failed = false;
  bool root_has_failed = false;
  bool is_whole = false;
  const std::string_view root = leader_in(evidence);
  for (const Record& record : evidence.notable()) {
    has_failed = has_failed || (record.injected && may_leave(evidence, record));
    root_has_failed = root_has_failed || (record.injected && record.role == root);
    root_gave_up = root_gave_up || (record.role == root && gives_up_lock(record));
    root_leaves = root_leaves || (record.role == root && record.name == "leave");
    if (is_fact(record, fact::born) && is_tracker(record)) {
      tracker_ever = true;
      tracker_was_killed = false;
      tracker_gave_up = false;
    } else if (is_fact(record, fact::died) && record.text == fact::ended) {
      tracker_gave_up = tracker_gave_up || (is_tracker(record) && record.value != 0);
    } else if (is_fact(record, fact::died)) {
      tracker_was_killed = tracker_was_killed || is_tracker(record);
      trackers_killed += is_tracker(record) ? 1U : 0U;
      root_was_leaving = is_tracker(record) ? root_leaves : root_was_leaving;
      root_was_killed = root_was_killed || record.role == root;
    } else if (is_fact(record, fact::fired)) {
      const auto index = static_cast<std::size_t>(record.value);
      is_whole = is_whole ||
                 (index < evidence.plan.faults.size() && evidence.plan.faults[index].whole_tree);
    }
  }
  const bool none_can =
      (root_was_killed && (tracker_was_killed || !tracker_ever)) ||
      ((root_was_leaving || root_gave_up || trackers_killed >= trackers_max) && tracker_was_killed);
  // A root that could not start another tracker has failed as well, and so has one that gave up
  // because it could not reach its tracker: what it makes afterwards is counted by none.
  const bool is_cut_off =
      root_gave_up && std::ranges::any_of(evidence.plan.faults, [](const Fault& fault) {
        return fault.error != 0 && fails_for_ever(fault, fault.site.role, fault.site.name);
      });
  has_failed =
      has_failed || is_cut_off || (root_has_failed && (tracker_was_killed || tracker_gave_up));
  return is_whole     ? Waiver::whole_tree
         : none_can   ? Waiver::last_tracker
         : has_failed ? Waiver::has_error
                      : Waiver::none;
}

/// The number of names that the processes of the run have made.
std::uint32_t names_made(const Evidence& evidence) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(evidence.notable(), [](const Record& record) {
        const bool makes = (record.call == Call::open && record.value >= 0) ||
                           record.call == Call::make_folder || record.call == Call::create_shm ||
                           record.call == Call::create_semaphore || record.call == Call::bind;
        return makes && record.kind == RecordKind::end && record.error == 0;
      }));
}

/// Each name that was made could have remained.
Look look_at_names(const Evidence& evidence) {
  const std::uint32_t made = names_made(evidence);
  return {.seen = made, .filled = made};
}

/// A folder that is made and removed at once, to check whether that is possible. It is not counted:
/// if its maker is killed in between, the next start removes it.
bool is_probe(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("lastref_probe_");
}

/// Whether a path is that name, or lies in it.
bool lies_in(std::string_view path, std::string_view name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '/');
}

/// The state that a next start can see, in the format of the journal: the trees that have their
/// locks, and the names in their ledgers.
std::vector<std::string> known_to_a_sweep(const Evidence& evidence) {
  std::map<std::string_view, std::string_view> ledgers;  // Their last contents.
  for_each_file(
      evidence,
      [](std::string_view path) { return path.ends_with("/ledger"); },
      [&](const FileLook& look, std::span<const Record>) { ledgers[look.path] = look.bytes; });
  std::vector<std::string> known;
  for (const std::string& path : evidence.left) {
    if (!path.ends_with("/lock")) {
      continue;
    }
    const std::string tree = path.substr(0, path.rfind('/'));
    known.push_back(journal_text(tree));
    const auto found = ledgers.find(tree + "/ledger");
    const bool has_ledger =
        found != ledgers.end() && std::ranges::count(evidence.left, found->first) != 0;
    const auto ledger = read_ledger(has_ledger ? found->second : std::string_view());
    for (const std::string& name : ledger ? ledger->names : std::vector<std::string>()) {
      known.push_back(journal_text(name.substr(name.find(':') + 1)));
    }
  }
  return known;
}

void complain(std::vector<Finding>& findings,
              const Evidence& evidence,
              const std::vector<std::string>& left,
              std::string_view claim) {
  for (const std::string& path : left) {
    if (!may_stay(evidence, path) && !was_said_to_be_gone(evidence, path)) {
      const auto maker = evidence.makers.find(path);
      findings.push_back(
          {.claim = std::string(claim),
           .seen =
               path + ' ' + (maker == evidence.makers.end() ? "is still there" : maker->second)});
    }
  }
}

/// Every name that was created is removed when the last process has ended, if root or tracker
/// survived and could do it: no call needed for that failed permanently.
Judgement no_leak(const Evidence& evidence) {
  constexpr std::string_view claim =
      "no-leak: every name created is removed when the last process has ended";
  if (evidence.is_of_program) {
    Judgement judgement;
    complain(judgement.findings, evidence, evidence.left, claim);
    return judgement;
  }
  const Ambient* const ambient = ambient_named(evidence.plan.ambient);
  if (!is_promised(evidence)) {
    return waived(Waiver::no_promise);
  }
  if (evidence.scenario.leaves_to_the_next_start ||
      (ambient != nullptr && ambient->leaves_to_the_next_start)) {
    return waived(Waiver::next_start);
  }
  if (const Waiver why = why_not_at_once(evidence); why != Waiver::none) {
    return waived(why);
  }
  Judgement judgement{.look = look_at_names(evidence)};
  std::vector<std::string> left = evidence.left;
  std::erase_if(left, is_probe);
  complain(judgement.findings, evidence, left, claim);
  return judgement;
}

/// Every name that was created is removed after the next start, whatever happened.
Judgement no_leak_at_next_start(const Evidence& evidence) {
  if (!is_promised(evidence)) {
    return waived(Waiver::no_promise);
  }
  std::vector<std::string> left = evidence.left_after_sweep;
  if (const Waiver why = why_not_at_once(evidence);
      evidence.scenario.spoils_ledger && why != Waiver::none) {
    // Names of a ledger that an outsider removed are known only to processes of its tree.
    const std::vector<std::string> known = known_to_a_sweep(evidence);
    const auto waived_names = std::erase_if(left, [&](const std::string& path) {
      return std::ranges::none_of(
          known, [&](const std::string& name) { return lies_in(journal_text(path), name); });
    });
    if (left.empty() && waived_names > 0) {
      return waived(why);
    }
  }
  Judgement judgement{.look = look_at_names(evidence)};
  // Permanent leftovers have been reported already, and are reported once.
  if (!left.empty() && no_leak(evidence).findings.empty()) {
    complain(judgement.findings,
             evidence,
             left,
             "no-leak: every name created is removed by the next start");
  }
  return judgement;
}

const RegisteredOracle registered_no_leak("no-leak", Concern::leftovers, no_leak, Judges::programs);
const RegisteredOracle registered_no_leak_at_next_start("no-leak at the next start",
                                                        Concern::leftovers,
                                                        no_leak_at_next_start);

}  // namespace
}  // namespace lastref::harness::oracle
