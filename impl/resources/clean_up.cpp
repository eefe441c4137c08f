// clean_up: how a manager releases its files and folders.
#include <atomic>
#include <new>
#include <tuple>
#include <utility>

#include <lastref/probe.hpp>
#include <lastref/temporary_resources.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/resources/contexts.hpp"

namespace lastref {
namespace {

/// Keeps the first error of several steps, all of which are done.
void keep_first(Status& first, Status next) {
  if (first) {
    first = std::move(next);
  }
}

/// Keeps the parts unchanged until the process exits, reachable for leak checkers.
template <typename... Parts>
void keep_until_exit(Parts&&... parts) noexcept {
  struct Kept {
    std::tuple<Parts...> parts;
    Kept* before;
  };
  static std::atomic<Kept*> last = nullptr;
  auto* const kept = new (std::nothrow) Kept{{std::forward<Parts>(parts)...}, nullptr};
  if (kept != nullptr) {
    kept->before = last.exchange(kept);
  }
}

}  // namespace

TemporaryResources::~TemporaryResources() {
  if (os_.process_token() != token_) {
    // A thread of the parent may have been changing them when this process was forked.
    keep_until_exit(std::move(contexts_),
                    std::move(current_),
                    std::move(made_),
                    std::move(looked_at_),
                    std::move(left_));
    return;
  }
  const os::Held held(*monitor_);
  life_->is_closing = true;
  while (life_->visitors > 0) {
    monitor_->wait();
  }
  life_->manager = nullptr;
  // Their hooks stay until they are empty: an exit that comes meanwhile waits for us.
  for (const auto& [id, context] : contexts_) {
    if (context->folder) {
      finalise(*context->folder);
    }
  }
  for (const std::shared_ptr<Folder>& folder : left_) {
    finalise(*folder);
  }
  contexts_.clear();
  left_.clear();
}

/// The hook that deletes the folder at the exit of the process, in any of its threads, if nothing
/// else has. It uses the manager, and the folder, only while they exist.
std::unique_ptr<os::ExitHook> TemporaryResources::finalise_at_exit(
    const std::shared_ptr<Folder>& folder) {
  return os_.at_exit([life = life_, weak = std::weak_ptr<Folder>(folder)] {
    const os::Held held(*life->monitor);
    const std::shared_ptr<Folder> left = weak.lock();
    if (life->manager == nullptr) {
      return;
    }
    life->is_at_exit = true;
    if (left && !left->is_finalised) {
      life->manager->os_.saw(Probe::folder_deleted_at_exit);
    }
    if (left) {
      life->manager->finalise(*left);
    }
  });
}

/// Removes one context or all, and closes them: no file is added to them any more. Needs no memory.
std::map<std::string, TemporaryResources::ContextPtr> TemporaryResources::take_contexts(
    const std::optional<std::string>& id) {
  std::map<std::string, ContextPtr> taken;
  if (!id) {
    taken.swap(contexts_);
  } else {
    taken.insert(contexts_.extract(*id));
  }
  for (const auto& [name, each] : taken) {
    each->is_open = false;
  }
  return taken;
}

Status TemporaryResources::let_go_of_files(Folder& folder) {
  Status first = ok();
  for (const auto& [number, file] : std::exchange(folder.files, {})) {
    if (std::exchange(file->owned_, false)) {
      keep_first(first, references_->release(file->resource()));
    }
  }
  return first;
}

Status TemporaryResources::forget_files(Folder& folder) {
  Status first = ok();
  for (const auto& [number, file] : std::exchange(folder.files, {})) {
    if (std::exchange(file->owned_, false)) {
      *file->ended_ = true;
      keep_first(first, references_->forget(file->resource()));
    }
  }
  return first;
}

/// Releases the folder, which is deleted when nothing in it is held any more.
Status TemporaryResources::let_go_of_folder(const std::shared_ptr<Folder>& folder) {
  if (!references_->is_attributed()) {
    delete_or_leave(folder, /*allow_non_empty=*/false);
    return ok();
  }
  folder->is_finalised = true;
  folder->finaliser.reset();
  folder->open.reset();
  return references_->release(folder->resource);
}

/// Deletes the folder now, or at the exit of the process.
void TemporaryResources::delete_or_leave(const std::shared_ptr<Folder>& folder,
                                         bool allow_non_empty) {
  folder->open.reset();
  if (delete_folder(os_, folder->resource.name, allow_non_empty)) {
    folder->is_finalised = true;
    folder->finaliser.reset();
    // They were deleted with the folder; any other holder finds its file missing.
    static_cast<void>(let_go_of_files(*folder));
    static_cast<void>(references_->forget(folder->resource));
  } else {
    os_.saw(Probe::folder_left_to_exit);
    left_.push_back(folder);
  }
}

/// The end of a folder that was not cleaned up in time: at the exit of the process, or before.
void TemporaryResources::finalise(Folder& folder) {
  if (std::exchange(folder.is_finalised, true)) {
    return;
  }
  static_cast<void>(forget_files(folder));
  folder.open.reset();
  if (const Status deleted = delete_folder(os_, folder.resource.name, /*allow_non_empty=*/true);
      !deleted) {
    if (deleted.error().code == std::errc::not_enough_memory) {
      // The tracker may have memory.
      static_cast<void>(references_->release(folder.resource));
      return;
    }
    os::report_quietly(os_, [&] {
      return "lastref: could not delete the temporary folder " + folder.resource.name + ": " +
             describe(deleted.error());
    });
    return;
  }
  static_cast<void>(references_->forget(folder.resource));
}

Status TemporaryResources::unlink_temporary_resources(const std::optional<std::string>& context) {
  return clean_temporary_resources(context);
}

Status TemporaryResources::unregister_temporary_resources(
    const std::optional<std::string>& context) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(visit, enter_process());
    const os::Held held(*monitor_);
    Status first = ok();
    for (const auto& [id, each] : contexts_) {
      if (each->folder && (!context || id == *context)) {
        keep_first(first, forget_files(*each->folder));
      }
    }
    return first;
  });
}

Status TemporaryResources::try_delete_folder(bool allow_non_empty,
                                             const std::optional<std::string>& context) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(visit, enter_process());
    const os::Held held(*monitor_);
    for (const auto& [id, each] : take_contexts(context)) {
      if (const auto folder = std::exchange(each->folder, nullptr)) {
        delete_or_leave(folder, allow_non_empty);
      }
    }
    return ok();
  });
}

Status TemporaryResources::clean_temporary_resources(const std::optional<std::string>& context,
                                                     CleanUpOptions options) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(visit, enter_process());
    const os::Held held(*monitor_);
    Status first = ok();
    for (const auto& [id, each] : take_contexts(context)) {
      const std::shared_ptr<Folder> folder = std::exchange(each->folder, nullptr);
      if (!folder) {
        continue;
      }
      keep_first(first, options.force ? forget_files(*folder) : let_go_of_files(*folder));
      if (options.force || options.allow_non_empty) {
        delete_or_leave(folder, /*allow_non_empty=*/true);
      } else {
        keep_first(first, let_go_of_folder(folder));
      }
    }
    return first;
  });
}

Result<tracker::Swept> sweep(os::Os& os, const std::string& runtime_folder) {
  return os::within_memory("a sweep", [&]() -> Result<tracker::Swept> {
    auto swept = tracker::sweep(os, runtime_folder);
    Status first = status_of(swept);
    for (const std::string& location : temp_locations(os)) {
      const auto path = absolute_path(os, location);
      keep_first(first, status_of(path));
      if (path) {
        keep_first(first, remove_probes(os, *path));
      }
    }
    LASTREF_CHECK(std::move(first));
    return swept;
  });
}

}  // namespace lastref
