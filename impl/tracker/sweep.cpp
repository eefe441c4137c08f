#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <lastref/probe.hpp>
#include <lastref/tracker.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/tracker/cleaner.hpp"
#include "impl/tracker/ledger.hpp"
#include "impl/tracker/registry.hpp"
#include "impl/tracker/tree.hpp"

namespace lastref::tracker {
namespace {

/// One attempt each: the start of a tree waits for this.
constexpr int attempts_of_a_sweep = 1;
/// This many leftovers of a tree are reported.

bool is_tree_name(std::string_view name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The trees in a runtime folder, in the order of their names.
///
/// Errors          of open and read_folder; a folder that does not exist has none.
Result<std::vector<TreePaths>> trees_in(os::Os& os, const std::string& runtime) {
  std::vector<TreePaths> trees;
  auto folder = os::open_file(os, runtime, {.folder = true});
  if (!folder) {
    if (folder.error().code == std::errc::no_such_file_or_directory) {
      return trees;
    }
    return failure(folder.error());
  }
  for (;;) {
    const auto entries = os.read_folder(folder->get());
    if (!entries && entries.error().code != std::errc::no_such_file_or_directory) {
      return failure(entries.error());
    }
    if (!entries || entries->empty()) {
      break;  // The end of the folder, or the folder was removed with its last tree.
    }
    for (const os::FolderEntry& entry : *entries) {
      if (entry.kind == os::FileKind::folder && is_tree_name(entry.name)) {
        trees.push_back({.folder = runtime + "/" + entry.name});
      }
    }
  }
  std::ranges::sort(trees, {}, &TreePaths::folder);
  return trees;
}

/// Whether another user has taken the name of a runtime folder.
bool is_anothers(os::Os& os, const std::string& location) {
  const auto status = os.status_at(location);
  return status && status->owner != os.user_id();
}

/// Whether a process of that tree is alive. True when in doubt: the tree may have lost its lock.
bool is_alive(os::Os& os, const TreePaths& paths) {
  const auto lock = LockFile::open_to_sweep(os, paths.lock());
  if (!lock || !*lock) {
    return true;
  }
  const auto holder =
      os.find_lock((*lock)->get(), {.kind = os::LockKind::exclusive, .start = 0, .length = 0});
  return !holder || holder->has_value();
}

/// The names that live trees count and that the clean-up of `dead` may remove: those of the trees
/// in the same folder, and in all default locations if `dead` is in one of these.
Result<std::set<Resource>> names_of_the_living(os::Os& os, const TreePaths& dead) {
  std::vector<std::string> runtimes = {dead.folder.substr(0, dead.folder.rfind('/'))};
  LASTREF_TRY(locations, runtime_locations(os, {}));
  if (std::ranges::find(locations, runtimes.front()) != locations.end()) {
    runtimes = locations;
  }
  std::set<Resource> names;
  for (const std::string& runtime : runtimes) {
    if (runtime != dead.folder.substr(0, dead.folder.rfind('/'))) {
      const Status usable = check_private(os, runtime);
      if (!usable && (usable.error().code == std::errc::no_such_file_or_directory ||
                      is_anothers(os, runtime))) {
        continue;  // No tree of ours is in it.
      }
      LASTREF_CHECK(usable);
    }
    LASTREF_TRY(trees, trees_in(os, runtime));
    for (const TreePaths& tree : trees) {
      if (tree.folder == dead.folder || !is_alive(os, tree)) {
        continue;
      }
      auto counted = Ledger::names_at(os, tree.ledger());
      if (counted) {
        names.insert(std::make_move_iterator(counted->begin()),
                     std::make_move_iterator(counted->end()));
      } else if (counted.error().code != std::errc::no_such_file_or_directory) {
        return failure(counted.error());
      }
    }
  }
  return names;
}

/// Whether `folder` contains one of the names.
bool has_inside(const Resource& folder, const std::set<Resource>& names) {
  const std::size_t last = folder.name.find_last_not_of('/');
  const std::string inside = folder.name.substr(0, last == std::string::npos ? 0 : last + 1) + '/';
  return std::ranges::any_of(std::array{ResourceType::file, ResourceType::folder}, [&](auto type) {
    const auto found = names.lower_bound({.type = type, .name = inside});
    return found != names.end() && found->type == type && found->name.starts_with(inside);
  });
}

class Sweep {
 public:
  Sweep(os::Os& os, Ledger& ledger, Swept& swept) noexcept
      : os_(os), ledger_(ledger), swept_(swept) {}

  /// Cleans up the names of the ledger. Returns whether none of it is left.
  Result<bool> clean_all(const TreePaths& paths) {
    std::vector<Resource> names = ledger_.names();
    if (names.empty()) {
      return true;
    }
    // First the identities, then the counts of live trees: if a live tree starts to count a name in
    // between, another thing has the name by then. (A thing that did not exist at the check is
    // known by its name only.)
    std::vector<Kept> unseen;
    std::erase_if(names, [&](const Resource& name) {
      const Status looked = look_at(name);
      if (!looked) {
        unseen.push_back({.resource = name, .why = looked.error()});
      }
      return !looked;
    });
    LASTREF_TRY(living, names_of_the_living(os_, paths));
    const std::size_t waiting = leave_to_others(names, living);
    const std::size_t count = names.size();
    std::vector<Kept> kept = clean(std::move(names));
    if (!kept.empty() && kept.size() < count) {
      // It may have been removed with the folder that contained it.
      std::vector<Resource> again;
      std::ranges::transform(
          kept, std::back_inserter(again), [](Kept& each) { return std::move(each.resource); });
      kept = clean(std::move(again));
    }
    swept_.names += count - kept.size();
    std::ranges::move(unseen, std::back_inserter(kept));
    if (!kept.empty()) {
      os_.hit(Probe::sweep_left_names);
      report(kept);
    }
    swept_.kept += kept.size();
    return kept.empty() && waiting == 0;
  }

 private:
  /// A leftover for the next sweep.
  struct Kept {
    Resource resource;
    Error why;
  };

  /// Only the first few, for the others usually have the same reason. Swept counts them all.
  void report(std::span<const Kept> kept) {
    for (const Kept& each :
         kept.first(std::min(kept.size(), os::limits_of(os_).reported_leftovers))) {
      os::report_quietly(
          os_, "lastref: could not clean up " + to_text(each.resource) + ": " + describe(each.why));
    }
  }

  /// Fails if something may be there, but its identity cannot be read.
  Status look_at(const Resource& name) {
    if (const auto known = ledger_.identity_of(name)) {
      identities_[name] = *known;
    } else if (is_path(name.type) && !is_relative(name)) {
      const os::PathAt where(name.name);
      const auto status = os::retry_interrupted([&] { return os_.status_at(where); });
      if (status) {
        identities_[name] = os::identity_of(*status);
      } else if (status.error().code != std::errc::no_such_file_or_directory &&
                 status.error().code != std::errc::not_a_directory) {
        return failure(status.error());
      }
    }
    return ok();
  }

  /// Takes out the names that we must not clean up: names that mean something else here than where
  /// they were registered, and names that a live tree counts, which that tree cleans up. A folder
  /// that contains such a thing waits for the next sweep; returns the number of those folders.
  std::size_t leave_to_others(std::vector<Resource>& names, const std::set<Resource>& living) {
    std::size_t waiting = 0;
    std::erase_if(names, [&](const Resource& name) {
      if (is_relative(name)) {
        os::report_quietly(os_,
                           "lastref: " + to_text(name) + " is left alone: its name is relative");
      } else if (living.contains(name)) {
        os_.hit(Probe::living_trees_name_spared);
        os::report_quietly(os_,
                           "lastref: " + to_text(name) + " is left alone: a live tree counts it");
      } else if (name.type == ResourceType::folder && has_inside(name, living)) {
        os_.hit(Probe::folder_around_living_name);
        ++waiting;
        return true;
      } else {
        return false;
      }
      if (const Status marked = ledger_.mark_dead(name); !marked) {
        ++waiting;
        os::report_quietly(os_,
                           "lastref: could not erase from the ledger: " + to_text(name) + ": " +
                               describe(marked.error()));
      }
      return true;
    });
    return waiting;
  }

  /// Cleans up as many of the names as it can, in their order; returns the others.
  std::vector<Kept> clean(std::vector<Resource> names) {
    Cleaner cleaner(os_, {.attempts = attempts_of_a_sweep});
    std::vector<Kept> kept;
    order_for_cleanup(names);
    for (const Resource& name : names) {
      const auto known = identities_.find(name);
      cleaner.add(name, known == identities_.end() ? std::nullopt : std::optional(known->second));
    }
    while (!cleaner.empty()) {
      for (Cleaned& cleaned : cleaner.step(os_.now())) {
        if (cleaned.identity_mismatch) {
          os::report_quietly(os_,
                             "lastref: " + to_text(cleaned.resource) +
                                 " is left alone: it is not what was counted by that name");
        }
        Status done = std::move(cleaned.status);
        if (done) {
          done = ledger_.mark_dead(cleaned.resource);
        }
        if (!done) {
          kept.push_back({.resource = std::move(cleaned.resource), .why = done.error()});
        }
      }
    }
    return kept;
  }

  os::Os& os_;
  Ledger& ledger_;
  Swept& swept_;
  std::map<Resource, Identity> identities_;
};

/// Cleans up the names of a dead tree's ledger. Returns whether none of it is left.
Result<bool> clean_names(os::Os& os, const TreePaths& paths, Swept& swept) {
  auto ledger = Ledger::open(os, paths.ledger());
  if (!ledger) {
    if (ledger.error().code == std::errc::no_such_file_or_directory) {
      return true;
    }
    return failure(ledger.error());
  }
  return Sweep(os, *ledger, swept).clean_all(paths);
}

}  // namespace

Status reclaim_tree(os::Os& os, const TreePaths& paths, Swept& swept) {
  auto opened = LockFile::open_to_sweep(os, paths.lock());
  if (!opened) {
    if (opened.error().code != std::errc::no_such_file_or_directory) {
      return failure(opened.error());
    }
    // A kill came between creating the folder and its lock, or between removing the lock and the
    // folder. Or another process creates it at this moment; then that process fails, and starts
    // again.
    const Status removed = os.remove_folder(paths.folder);
    if (removed) {
      os.hit(Probe::half_made_tree_removed);
    } else if (removed.error().code == std::errc::directory_not_empty) {
      swept.unjudged.push_back(paths.folder);
    }
    return ok();
  }
  const std::optional<LockFile>& lock = *opened;
  if (!lock) {
    os.hit(Probe::sweep_met_own_tree);
    ++swept.alive;  // This process is a member.
    return ok();
  }
  Status locked = os::retry_interrupted([&] {
    return os.lock_range(lock->get(), {.kind = os::LockKind::exclusive, .start = 0, .length = 0});
  });
  if (!locked) {
    if (locked.error().code == std::errc::resource_unavailable_try_again) {
      os.hit(Probe::sweep_met_living_tree);
      ++swept.alive;
      return ok();
    }
    return locked;
  }
  LASTREF_TRY(clean, clean_names(os, paths, swept));
  if (clean) {
    LASTREF_CHECK(remove_tree(os, paths));
    os.hit(Probe::tree_reclaimed);
    ++swept.trees;
  }
  return ok();
}

Status sweep_trees(os::Os& os, const std::string& runtime, Swept& swept) {
  LASTREF_TRY(trees, trees_in(os, runtime));
  Status worst = ok();
  for (const TreePaths& tree : trees) {
    if (Status reclaimed = reclaim_tree(os, tree, swept); !reclaimed) {
      worst = reclaimed;
    }
  }
  return worst;
}

Result<Swept> sweep_locations(os::Os& os,
                              std::span<const std::string> locations,
                              bool minds_others) {
  Swept swept;
  Status worst = ok();
  // All of them: a tree may be in the second best because the best was refused at the time.
  for (const std::string& location : locations) {
    Status done = check_private(os, location);
    if (done) {
      done = sweep_trees(os, location, swept);
      remove_runtime(os, location);
    } else if (!minds_others && is_anothers(os, location)) {
      continue;  // No tree of ours is in it.
    }
    if (!done && done.error().code != std::errc::no_such_file_or_directory) {
      worst = std::move(done);
    }
  }
  if (!worst) {
    return failure(worst.error());
  }
  return swept;
}

Result<Swept> sweep(os::Os& os, const std::string& runtime_folder) noexcept {
  return os::within_memory("a sweep", [&]() -> Result<Swept> {
    LASTREF_TRY(locations, runtime_locations(os, runtime_folder));
    return sweep_locations(os, locations, /*minds_others=*/true);
  });
}

}  // namespace lastref::tracker
