#include <algorithm>

#include <lastref/tracker.hpp>

#include "impl/tracker/cleaner.hpp"
#include "impl/tracker/ledger.hpp"
#include "impl/tracker/registry.hpp"
#include "impl/tracker/tree.hpp"

namespace lastref::tracker {
namespace {

/// One attempt each: whoever starts a tree waits for this.
constexpr int attempts_of_a_sweep = 1;

bool is_tree_name(std::string_view name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Cleans up what it can of the names, in their order; returns the others.
std::vector<Resource> clean(os::Os& os, Ledger& ledger, std::vector<Resource> names) {
  Cleaner cleaner(os, attempts_of_a_sweep);
  order_for_cleanup(names);
  for (Resource& name : names) {
    cleaner.add(std::move(name));
  }
  std::vector<Resource> kept;
  while (!cleaner.empty()) {
    for (Cleaned& cleaned : cleaner.step(os.now())) {
      if (!cleaned.status || !ledger.strike(cleaned.resource)) {
        kept.push_back(std::move(cleaned.resource));
      }
    }
  }
  return kept;
}

/// Cleans what the ledger says. Returns whether nothing is left of it.
Result<bool> clean_names(os::Os& os, const TreePaths& paths, Swept& swept) {
  auto ledger = Ledger::open(os, paths.ledger());
  if (!ledger) {
    if (ledger.error().code == std::errc::no_such_file_or_directory) {
      return true;
    }
    return tl::unexpected<Error>(ledger.error());
  }
  std::vector<Resource> names = ledger->names();
  const std::size_t count = names.size();
  std::vector<Resource> kept = clean(os, *ledger, std::move(names));
  if (!kept.empty() && kept.size() < count) {
    // It may have gone with a folder that it lay in.
    kept = clean(os, *ledger, std::move(kept));
  }
  swept.names += count - kept.size();
  swept.kept += kept.size();
  return kept.empty();
}

}  // namespace

Status reclaim_tree(os::Os& os, const TreePaths& paths, Swept& swept) noexcept {
  auto lock = os::open_file(os, paths.lock(), {.write = true});
  if (!lock) {
    if (lock.error().code != std::errc::no_such_file_or_directory) {
      return tl::unexpected<Error>(lock.error());
    }
    // Killed between the folder and its lock, or between the lock's end and the folder's; or being
    // made at this moment, which only goes wrong for its maker, who starts again.
    static_cast<void>(os.remove_folder(paths.folder));
    return ok();
  }
  Status locked = os::retry_interrupted([&] {
    return os.lock_range(lock->get(), {.kind = os::LockKind::exclusive, .start = 0, .length = 0});
  });
  if (!locked) {
    if (locked.error().code == std::errc::resource_unavailable_try_again) {
      ++swept.alive;
      return ok();
    }
    return locked;
  }
  LASTREF_TRY(clean, clean_names(os, paths, swept));
  if (clean) {
    LASTREF_CHECK(remove_tree(os, paths));
    ++swept.trees;
  }
  return ok();
}

Status sweep_trees(os::Os& os, const std::string& runtime, Swept& swept) noexcept {
  auto folder = os::open_file(os, runtime, {.folder = true});
  if (!folder) {
    if (folder.error().code == std::errc::no_such_file_or_directory) {
      return ok();
    }
    return tl::unexpected<Error>(folder.error());
  }
  std::vector<std::string> trees;
  for (;;) {
    const auto entries = os.read_folder(folder->get());
    if (!entries && entries.error().code != std::errc::no_such_file_or_directory) {
      return tl::unexpected<Error>(entries.error());
    }
    if (!entries || entries->empty()) {
      break;  // Its end; or it is gone, with the last tree in it.
    }
    for (const os::FolderEntry& entry : *entries) {
      if (entry.kind == os::FileKind::folder && is_tree_name(entry.name)) {
        trees.push_back(runtime + "/" + entry.name);
      }
    }
  }
  folder->close_quietly();
  std::ranges::sort(trees);
  Status worst = ok();
  for (const std::string& tree : trees) {
    if (Status reclaimed = reclaim_tree(os, {.folder = tree}, swept); !reclaimed) {
      worst = reclaimed;
    }
  }
  return worst;
}

Result<Swept> sweep(os::Os& os, const std::string& runtime_folder) noexcept {
  Swept swept;
  Status worst = ok();
  // All of them: a tree may live in the second best because the best was refused at the time.
  for (const std::string& place : runtime_places(os, runtime_folder)) {
    Status done = check_private(os, place);
    if (done) {
      done = sweep_trees(os, place, swept);
      // Refused while any tree is left in it.
      static_cast<void>(os.remove_folder(place));
    }
    if (!done && done.error().code != std::errc::no_such_file_or_directory) {
      worst = std::move(done);
    }
  }
  if (!worst) {
    return tl::unexpected<Error>(worst.error());
  }
  return swept;
}

}  // namespace lastref::tracker
