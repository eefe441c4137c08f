// leaving: the oracles that look at what is left, and at how the end came.
#include <algorithm>
#include <cerrno>
#include <map>

#include "harness/oracle/oracles.hpp"
#include "harness/scenario/ambient.hpp"

namespace lastref::harness::oracle {
namespace {

/// Whether `path` is what the scenario leaves behind on purpose, or lies in it.
bool may_stay(const Scenario& scenario, std::string_view path) {
  return std::ranges::any_of(scenario.stays, [&](std::string_view resource) {
    const std::size_t colon = resource.find(':');
    const std::string_view type = resource.substr(0, colon);
    std::string name(resource.substr(colon == std::string_view::npos ? 0 : colon + 1));
    name.erase(0, name.rfind('/') + 1);
    if (type == "shm" || type == "semlock") {
      return path == (type == "shm" ? "/dev/shm/" : "/dev/shm/sem.") + name;
    }
    const std::string middle = '/' + name + '/';
    return path.ends_with('/' + name) ||
           (type == "folder" && path.find(middle) != std::string_view::npos);
  });
}

/// Whether somebody lived to clean up: then nothing may be left for the next start.
///
/// That is so unless a call was made to fail, the whole tree was killed, or the last tracker was
/// killed and the root did not live on in the tree to start another.
bool somebody_lived_to_clean(const Evidence& evidence) {
  bool tracker_was_killed = false;
  bool tracker_ever = false;
  bool root_was_killed = false;
  bool root_leaves = false;
  bool root_was_leaving = false;  // when the last tracker was killed
  bool failed_or_whole = false;
  for (const Record& record : evidence.records) {
    failed_or_whole = failed_or_whole || record.injected;
    root_leaves = root_leaves || (record.role == "root" && record.place == "leave");
    if (is_fact(record, fact::born) && is_tracker(record)) {
      tracker_ever = true;
      tracker_was_killed = false;
    } else if (is_fact(record, fact::died) && record.text != fact::ended) {
      tracker_was_killed = tracker_was_killed || is_tracker(record);
      root_was_leaving = is_tracker(record) ? root_leaves : root_was_leaving;
      root_was_killed = root_was_killed || record.role == "root";
    } else if (is_fact(record, fact::fired)) {
      const auto index = static_cast<std::size_t>(record.value);
      failed_or_whole = failed_or_whole || (index < evidence.plan.faults.size() &&
                                            evidence.plan.faults[index].whole_tree);
    }
  }
  const bool nobody = (root_was_killed && (tracker_was_killed || !tracker_ever)) ||
                      (root_was_leaving && tracker_was_killed);
  return !failed_or_whole && !nobody;
}

/// A folder that is made and removed in one breath, to see whether that can be done. Nobody counts
/// it: if its maker is killed in between, the next start takes it away.
bool is_probe(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("lastref_probe_");
}

/// Whether a look at it was made to say, by a fault, that nothing is there: who cleans up and hears
/// that has done all he can.
bool was_said_to_be_gone(const Evidence& evidence, std::string_view path) {
  return std::ranges::any_of(evidence.records, [&](const Record& record) {
    return record.call == Call::status_at && record.injected && record.error == ENOENT &&
           is_tracker(record) && record.text.view() == journal_text(path);
  });
}

void complain(std::vector<Finding>& findings,
              const Evidence& evidence,
              const std::vector<std::string>& left,
              std::string_view claim) {
  for (const std::string& path : left) {
    if (!may_stay(evidence.scenario, path) && !was_said_to_be_gone(evidence, path)) {
      findings.push_back({.claim = std::string(claim), .seen = path + " is still there"});
    }
  }
}

/// Whether somebody promised to clean up at the next start at the latest. A protocol without a
/// ledger promises nothing past the death or failure of its tracker.
bool is_promised(const Evidence& evidence) {
  return !evidence.scenario.no_ledger ||
         std::ranges::none_of(evidence.records, [](const Record& record) {
           return is_tracker(record) &&
                  (record.injected || (is_fact(record, fact::died) && record.text != fact::ended));
         });
}

/// What was done with a name, as far as words tell.
struct Given {
  bool is_counted = false;
  bool is_made = false;
  bool is_known = false;     ///< It was said which thing it is,
  bool is_anothers = false;  ///< and then another one got the name.
};

std::string claimed(std::string_view claim) {
  return std::string(claim);
}

/// A map stays where it is when its unmap fails, and nobody has a better one. That it was told is
/// error-surfaced's to judge.
bool could_not_unmap(const Evidence& evidence, const Record& left) {
  return std::ranges::any_of(evidence.records, [&](const Record& record) {
    return record.call == Call::unmap && record.injected && record.process == left.process &&
           left.object == ObjectText("map:" + std::string(record.object.view())).view();
  });
}

}  // namespace

std::vector<Finding> no_leak(const Evidence& evidence) {
  std::vector<Finding> findings;
  if (!is_promised(evidence)) {
    return findings;
  }
  const Ambient* const ambient = ambient_named(evidence.plan.ambient);
  const bool may_leave = evidence.scenario.leaves_to_the_next_start ||
                         (ambient != nullptr && ambient->leaves_to_the_next_start);
  if (!may_leave && somebody_lived_to_clean(evidence)) {
    std::vector<std::string> left = evidence.left;
    std::erase_if(left, is_probe);
    complain(findings,
             evidence,
             left,
             "no-leak: every name created is removed when the last process is gone");
  }
  if (findings.empty()) {
    complain(findings,
             evidence,
             evidence.left_after_sweep,
             "no-leak: every name created is removed past the next start");
  }
  return findings;
}

std::vector<Finding> stays(const Evidence& evidence) {
  std::map<std::string_view, Given> all;  // by the resource as words have it
  for (const Record& record : evidence.records) {
    const std::string_view text = record.text.view();
    if (record.kind == RecordKind::word_begin &&
        (record.place == "register" || record.place == "hold")) {
      all[text].is_counted = true;
    } else if (record.kind == RecordKind::word_end && record.error == 0) {
      Given& given = all[text];
      given.is_counted = given.is_counted && record.place != "forget";
      given.is_known = given.is_known || record.place == "identify";
      given.is_made = given.is_made || record.place == "make";
      given.is_anothers = given.is_anothers || (record.place == "replace" && given.is_known);
    }
  }
  std::vector<Finding> findings;
  for (const auto& [resource, given] : all) {
    const std::string_view path =
        resource.substr(std::min(resource.find(':') + 1, resource.size()));
    const bool must_stay = given.is_anothers || (given.is_made && !given.is_counted);
    if (must_stay && may_stay(evidence.scenario, path) &&
        std::ranges::find(evidence.left_after_sweep, path) == evidence.left_after_sweep.end()) {
      findings.push_back({.claim = claimed("stays: what was forgotten, and what is another's, is "
                                           "left alone"),
                          .seen = std::string(path) + " is gone"});
    }
  }
  return findings;
}

Leftovers leftovers_of(const Evidence& evidence) {
  const auto count = std::ranges::count_if(evidence.left_after_sweep, [&](const auto& path) {
    return !may_stay(evidence.scenario, path);
  });
  const auto number = static_cast<std::uint32_t>(count);
  return is_promised(evidence) ? Leftovers{.promised = number} : Leftovers{.unpromised = number};
}

std::vector<Finding> no_hang(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::hang)) {
      findings.push_back({.claim = claimed("no-hang: every run comes to its end"),
                          .seen = std::string(record.text.view())});
    }
  }
  return findings;
}

std::vector<Finding> no_crash(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::died) && record.text == fact::crashed) {
      const std::string what = record.value > 0
                                   ? "died of signal " + std::to_string(record.value)
                                   : "exited by itself with " + std::to_string(-record.value);
      findings.push_back(
          {.claim = claimed("no-crash: a process dies of nothing but a planned kill"),
           .seen = std::string(record.role.view()) + ' ' + what});
    }
  }
  return findings;
}

std::vector<Finding> no_fd_leak(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::fd_left) && !could_not_unmap(evidence, record)) {
      findings.push_back(
          {.claim = claimed("no-fd-or-map-leak: who ends in good order has closed what it opened"),
           .seen = std::string(record.role.view()) + " left " + std::string(record.object.view()) +
                   " open"});
    }
  }
  return findings;
}

std::vector<Finding> no_stray_process(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::stray)) {
      findings.push_back({.claim = claimed("no-stray-process: no process outlives the run"),
                          .seen = std::string(record.text.view())});
    }
  }
  return findings;
}

std::vector<Finding> refuted(const Evidence& evidence) {
  std::vector<Finding> findings;
  bool expects_seen = false;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::refuted)) {
      findings.push_back({.claim = std::string(record.text.view()), .seen = {}});
      expects_seen = true;
    } else if (is_fact(record, fact::seen) && expects_seen) {
      findings.back().seen = record.text.view();
      expects_seen = false;
    }
  }
  return findings;
}

}  // namespace lastref::harness::oracle
