#include "harness/oracle/leftovers.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "harness/oracle/operations.hpp"

namespace lastref::harness::oracle {

namespace {

/// The path in normal form.
std::filesystem::path normal(std::string_view path) {
  return std::filesystem::path(path).lexically_normal();
}

/// Whether tracker and processes agree that a thing with this name is to be removed. A reference
/// is certain if no process has forgotten the name since its register began.
class Forgotten {
 public:
  explicit Forgotten(std::string_view resource) : resource_(resource) {}

  void read(const Record& record) {
    if (record.kind == RecordKind::fact) {
      if (record.name == fact::died) {
        certain_.erase(record.process);
      }
    } else if (record.kind == RecordKind::operation_begin && record.name == "leave") {
      certain_.erase(record.process);
    } else if (record.text == resource_) {
      if (record.kind == RecordKind::operation_begin) {
        begin(record);
      } else if (record.kind == RecordKind::operation_end) {
        end(record);
      }
    }
  }

  bool may_stay() const noexcept { return may_stay_; }

 private:
  void begin(const Record& record) {
    if (record.name == "register") {
      // The message of a process that died while it forgot the name may still arrive.
      taking_[record.process] = forgetting_ == 0;
    } else if (record.name == "release") {
      if (const auto one = certain_.find(record.process); one != certain_.end()) {
        certain_.erase(one);
      }
    } else if (record.name == "forget") {
      ++forgetting_;
      certain_.clear();
      taking_.clear();
      may_stay_ = true;
    }
  }

  void end(const Record& record) {
    if (record.name == "register") {
      if (record.error == 0 && std::exchange(taking_[record.process], false)) {
        certain_.insert(record.process);
        may_stay_ = false;
      }
    } else if (record.name == "forget") {
      --forgetting_;
    } else if (record.name == "make" && record.error == 0) {
      may_stay_ = may_stay_ || !certain_.contains(record.process);
    }
  }

  std::string_view resource_;
  std::multiset<std::uint16_t> certain_;  ///< processes, once for each reference
  std::map<std::uint16_t, bool> taking_;  ///< registers in progress that will be certain
  int forgetting_ = 0;
  bool may_stay_ = false;
};

}  // namespace

std::string path_of(std::string_view resource) {
  const std::size_t colon = resource.find(':');
  const std::string_view type = resource.substr(0, colon);
  const std::string_view name = resource.substr(std::min(colon + 1, resource.size()));
  if (type == "shm" || type == "semlock") {
    return std::string(type == "shm" ? "/dev/shm/" : "/dev/shm/sem.").append(name.substr(1));
  }
  return std::string(name);
}

bool may_stay(const Evidence& evidence, std::string_view path) {
  if (may_stay(evidence.scenario, path)) {
    return true;
  }
  if (!evidence.scenario.forgotten_stay) {
    return false;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool is_semaphore = name.starts_with("sem.");
  const std::string object(is_semaphore ? name.substr(4) : name);
  const std::string texts[] = {"file:" + std::string(path),
                               "folder:" + std::string(path),
                               (is_semaphore ? "semlock:/" : "shm:/") + object};
  return std::ranges::any_of(texts, [&](const std::string& text) {
    const std::string resource = journal_text(text);
    Forgotten forgotten(resource);
    for (const Record& record : evidence.notable()) {
      forgotten.read(record);
    }
    return forgotten.may_stay();
  });
}

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

bool is_promised(const Evidence& evidence) {
  return !evidence.scenario.no_ledger ||
         std::ranges::none_of(evidence.notable(), [](const Record& record) {
           return is_tracker(record) &&
                  (record.injected || (is_fact(record, fact::died) && record.text != fact::ended));
         });
}

bool was_said_to_be_gone(const Evidence& evidence, std::string_view path) {
  // A tracker checks twice, but not if something else goes wrong as well. The next start checks
  // once.
  const std::vector<Fault>& faults = evidence.plan.faults;
  const bool comes_again = std::ranges::any_of(
      faults, [](const Fault& fault) { return is_for_ever(fault.kind) && fault.error == ENOENT; });
  const bool looks_once = comes_again || faults.size() > 1;
  const std::string_view root = leader_in(evidence);
  return std::ranges::any_of(evidence.notable(), [&](const Record& record) {
    const bool cleans_up = looks_once && (is_tracker(record) || record.role == root);
    return record.call == Call::status_at && record.injected && record.error == ENOENT &&
           (cleans_up || record.role == next_start_role) &&
           normal(record.text.view()) == normal(journal_text(path));
  });
}

Leftovers leftovers_of(const Evidence& evidence) {
  Leftovers leftovers;
  const bool promised = is_promised(evidence);
  for (const std::string& path : evidence.left_after_sweep) {
    const NameKind kind = kind_of_name(path);
    if (may_stay(evidence, path)) {
      leftovers.permitted.add(WhyPermitted::scenario, kind);
    } else if (!promised) {
      leftovers.permitted.add(WhyPermitted::no_ledger, kind);
    } else if (was_said_to_be_gone(evidence, path)) {
      leftovers.permitted.add(WhyPermitted::said_to_be_gone, kind);
    } else {
      ++leftovers.promised;
    }
  }
  return leftovers;
}

std::string resource_removed_by(const Record& record) {
  const auto text = [&](ResourceType type) {
    return journal_text(to_text(Resource{.type = type, .name = std::string(record.text.view())}));
  };
  switch (record.call) {
    case Call::unlink:
      return text(ResourceType::file);
    case Call::remove_folder:
      return text(ResourceType::folder);
    case Call::unlink_shm:
      return text(ResourceType::shm);
    case Call::unlink_semaphore:
      return text(ResourceType::semlock);
    default:
      return {};
  }
}

}  // namespace lastref::harness::oracle
