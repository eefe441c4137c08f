#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <lastref/probe.hpp>
#include <lastref/temporary_resources.hpp>

#include "impl/os/atomic.hpp"
#include "impl/os/folders.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

constexpr std::size_t context_size_max = 128;
constexpr int checks_per_folder = 2;

Status check_context(const std::string& id) {
  if (id.empty() || id.size() > context_size_max || id.find('/') != std::string::npos ||
      id.find('\0') != std::string::npos) {
    return failure(std::errc::invalid_argument, "a context's id is part of a file name: " + id);
  }
  return ok();
}

/// The configured root as an absolute path: the working folder may be another when the first file
/// is made.
Result<std::optional<std::string>> root_now(os::Os& os, const std::optional<std::string>& named) {
  std::optional<std::string> root = named;
  for (const char* variable : temp_folder_variables) {
    const auto value = root ? std::nullopt : os.environment(variable);
    if (value && !value->empty()) {
      root = value;
    }
  }
  if (!root || (!named && root->starts_with('/'))) {
    return named;
  }
  LASTREF_TRY(path, absolute_path(os, *root));
  return std::optional<std::string>(std::move(path));
}

tl::unexpected<Error> exiting_error(const std::string& id) {
  return failure(std::errc::operation_canceled,
                 "the context " + id + " at the exit of the process");
}

tl::unexpected<Error> context_closed_error(const std::string& id) {
  return failure(std::errc::operation_canceled, "the context " + id + " was cleaned up");
}

/// Whether the folder is ours, and no other user can enter it.
Status check_private(os::Os& os, os::Fd folder, const std::string& path) {
  LASTREF_TRY(status, os::with_path(path, os.status(folder)));
  if (status.owner != os.user_id()) {
    return failure(std::errc::permission_denied, path + " (another user's)");
  }
  if ((status.mode & 077U) != 0) {
    return failure(std::errc::permission_denied, path + " (open to others)");
  }
  return ok();
}

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

/// Why a file could not be made.
struct TemporaryResources::AttemptError : Error {
  enum class Cause : std::uint8_t {
    other,
    location,         ///< Another location may do.
    strange_folder,   ///< There is one of that name that no context has made.
    tracker_refused,  ///< No location can help.
  };

  // NOLINTNEXTLINE(google-explicit-constructor): an error is one without a known cause.
  AttemptError(Error error, Cause its_cause = Cause::other)
      : Error(std::move(error)), cause(its_cause) {}

  Cause cause;
};

/// Guarded by the manager's monitor, except for `resource`, which never changes.
struct TemporaryResources::Folder {
  Resource resource;
  std::shared_ptr<os::UniqueFd> open;  ///< None when it was removed and has to be made again.
  /// The files that the manager owns, in the order in which they were made.
  std::map<std::uint64_t, std::shared_ptr<const TemporaryFile>> files = {};
  std::uint64_t files_made = 0;
  std::unique_ptr<os::ExitHook> exit_hook = {};
  bool is_identified = false;  ///< The tracker knows its identity.
  bool is_finalised = false;   ///< Nothing is made in it any more.
};

/// A hook of the process's exit may run in another thread while the manager is destroyed, and calls
/// of other threads may not be over.
struct TemporaryResources::SharedState {
  explicit SharedState(os::Os& os, TemporaryResources* of)
      : monitor(os.make_monitor()),
        running_calls(os, 0),
        is_closing(os, /*value=*/false),
        manager(of) {}

  std::unique_ptr<os::Monitor> monitor;
  os::Atomic<std::size_t> running_calls;
  os::Atomic<bool> is_closing;
  // Accessed with the monitor held.
  TemporaryResources* manager;  ///< None after its destruction.
  bool is_at_exit = false;
};

/// A call that the destruction of the manager waits for.
class TemporaryResources::CallGuard {
 public:
  explicit CallGuard(std::shared_ptr<SharedState> shared) : shared_(std::move(shared)) {
    shared_->running_calls.fetch_add(1);
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  CallGuard(CallGuard&& other) noexcept = default;
  CallGuard& operator=(CallGuard&& other) = delete;
  ~CallGuard() {
    if (shared_ && shared_->running_calls.fetch_sub(1) == 1 && shared_->is_closing.load()) {
      const os::MonitorLock held(*shared_->monitor);
      shared_->monitor->notify_all();
    }
  }

 private:
  std::shared_ptr<SharedState> shared_;
};

struct TemporaryResources::Context {
  std::string id;
  bool is_open = true;
  bool has_file = false;  ///< Has had a file: its location works.
  bool shared_memory_failed = false;
  std::optional<TempFolder> location = {};
  std::shared_ptr<Folder> folder = {};
};

TemporaryResources::TemporaryResources(os::Os& os,
                                       std::shared_ptr<References> references,
                                       TemporaryResourcesOptions options)
    : os_(os),
      references_(std::move(references)),
      options_(std::move(options)),
      process_(os.process_id()),
      token_(os.process_token()),
      shared_(std::make_shared<SharedState>(os, this)),
      monitor_(shared_->monitor.get()) {}

Result<std::unique_ptr<TemporaryResources>> TemporaryResources::make(
    os::Os& os, std::shared_ptr<References> references, TemporaryResourcesOptions options) {
  return os::within_memory("a manager", [&]() -> Result<std::unique_ptr<TemporaryResources>> {
    LASTREF_TRY(root, root_now(os, options.root));
    options.root = std::move(root);
    LASTREF_TRY(id, os::random_hex(os));
    std::string context = options.context.value_or("");
    if (!options.context) {
      LASTREF_TRY(chance, os::random_hex(os));
      context = std::move(chance);
    }
    std::unique_ptr<TemporaryResources> made(
        new TemporaryResources(os, std::move(references), std::move(options)));
    made->id_ = std::move(id);
    LASTREF_CHECK(made->set_current_context(context));
    return made;
  });
}

/// A forked child has copies of all objects here, and owns none of them.
Result<TemporaryResources::CallGuard> TemporaryResources::enter_process() const {
  if (os_.process_token() != token_) {
    os_.hit(Probe::resources_of_parent_refused);
    return failure(std::errc::operation_not_permitted,
                   "the temporary resources of process " + std::to_string(process_));
  }
  return CallGuard(shared_);
}

Status TemporaryResources::set_current_context(const std::string& id) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(guard, enter_process());
    LASTREF_CHECK(register_new_context(id));
    const os::MonitorLock held(*monitor_);
    current_ = id;
    return ok();
  });
}

Status TemporaryResources::register_new_context(const std::string& id) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(guard, enter_process());
    LASTREF_CHECK(check_context(id));
    const os::MonitorLock held(*monitor_);
    if (!contexts_.contains(id)) {
      contexts_.emplace(id, std::make_shared<Context>(Context{.id = id}));
    }
    return ok();
  });
}

Result<TemporaryResources::ContextPtr> TemporaryResources::current() {
  const os::MonitorLock held(*monitor_);
  const auto found = contexts_.find(current_);
  if (found == contexts_.end()) {
    return context_closed_error(current_);
  }
  return found->second;
}

/// Chooses the folder of the context. Called with the monitor held, as all functions below.
Status TemporaryResources::choose(Context& context) {
  if (context.location) {
    return ok();
  }
  TempFolderOptions choice = options_.choice;
  choice.try_shared_memory = choice.try_shared_memory && !context.shared_memory_failed;
  choice.references = references_.get();
  const std::string name =
      "lastref_memmapping_folder_" + std::to_string(process_) + '_' + id_ + '_' + context.id;
  LASTREF_TRY(location, temp_dir(os_, name, options_.root, choice));
  context.location = std::move(location);
  if (!options_.root && !std::exchange(has_swept_, true)) {
    // Removes what dead processes left while they tried a location, as we have just done.
    const std::string where = context.location->path.substr(0, context.location->path.rfind('/'));
    if (const Status removed = remove_probes(os_, where); !removed) {
      os::report_quietly(os_, [&] {
        return "lastref: folders of dead processes may remain: " + describe(removed.error());
      });
    }
  }
  return ok();
}

Result<TempFolder> TemporaryResources::resolve_temp_folder_name() {
  return os::within_memory("a folder", [&]() -> Result<TempFolder> {
    LASTREF_TRY(guard, enter_process());
    LASTREF_TRY(context, current());
    const os::MonitorLock held(*monitor_);
    LASTREF_CHECK(choose(*context));
    return *context->location;
  });
}

/// Remembers a folder that was created. With one context per call, at most twice as many folders
/// are remembered as exist: for each new one, two others are checked in turn.
void TemporaryResources::remember(const std::string& folder) {
  made_.insert(folder);
  const std::size_t unchecked = os::limits_of(os_).folders_unchecked;
  for (int look = 0; look < checks_per_folder && made_.size() > unchecked; ++look) {
    auto each = made_.upper_bound(last_checked_);
    each = each == made_.end() ? made_.begin() : each;
    last_checked_ = *each;
    const auto there = os_.status_at(last_checked_);
    if (failed_with(there, std::errc::no_such_file_or_directory)) {
      made_.erase(each);
    }
  }
}

/// Makes the folder and opens it. An existing one is used if it is as private as ours. The tracker
/// need not delete a strange folder.
auto TemporaryResources::enter(const TempFolder& location)
    -> Attempted<std::shared_ptr<os::UniqueFd>> {
  const os::PathAt path = location.path;
  auto open = std::make_shared<os::UniqueFd>();
  // We do not create the mount point of shared memory.
  Status made = location.use_shared_mem ? os_.make_folder(path, os::private_folder)
                                        : os::make_with_parents(os_, location.path);
  if (!made && made.error().code != std::errc::file_exists) {
    return failure(std::move(made).error());
  }
  Status usable = os::within_memory("a folder", [&]() LASTREF_REQUIRES(*monitor_) -> Status {
    if (made) {
      remember(location.path);
    }
    LASTREF_TRY(opened, os::open_file(os_, path, {.folder = true}));
    *open = std::move(opened);
    LASTREF_CHECK(check_private(os_, open->get(), location.path));
    return os::check_parent(os_, location.path);
  });
  if (!usable) {
    const bool is_strange = !made && !made_.contains(location.path);
    if (is_strange) {
      os_.hit(Probe::strange_folder_refused);
    }
    if (made) {
      static_cast<void>(os_.remove_folder(path));
    }
    return tl::unexpected(AttemptError(
        std::move(usable).error(),
        is_strange ? AttemptError::Cause::strange_folder : AttemptError::Cause::location));
  }
  static_cast<void>(os_.lock_folder(open->get()));  // Against what removes by age.
  return open;
}

/// A context that was cleaned up and registered again gets the folder that was left to the exit.
void TemporaryResources::take_back(Context& context) {
  const auto found = std::ranges::find_if(left_, [&](const auto& folder) {
    return folder->resource.name == context.location->path && !folder->is_finalised;
  });
  if (found != left_.end()) {
    os_.hit(Probe::folder_taken_back);
    context.folder = *found;
    context.has_file = true;
    left_.erase(found);
  }
}

/// The folder of the context, made if need be.
auto TemporaryResources::folder_of(Context& context) -> Attempted<std::shared_ptr<Folder>> {
  LASTREF_CHECK(choose(context));
  if (!context.folder) {
    take_back(context);
  }
  std::shared_ptr<Folder> folder = context.folder;
  std::unique_ptr<os::ExitHook> exit_hook;
  if (!folder) {
    folder = std::make_shared<Folder>(
        Folder{.resource = {.type = ResourceType::folder, .name = context.location->path},
               .open = nullptr});
    exit_hook = make_exit_hook(folder);
    // So that the folders that exist can be left to the exit without memory, whatever happens.
    left_.reserve(left_.size() + contexts_.size() + 1);
    LASTREF_CHECK(references_->register_name(folder->resource));
  }
  if (!folder->open) {
    if (context.folder) {
      os_.hit(Probe::removed_folder_made_again);
      // Another process has removed it. If this process dies before it has registered the new
      // identity, the name stays counted without one. A folder that cannot be counted is not made.
      folder->is_identified = false;
      LASTREF_CHECK(references_->identify(folder->resource, std::nullopt));
    }
    auto open = os::within_memory(
        "a folder", [&]() LASTREF_REQUIRES(*monitor_) { return enter(*context.location); });
    if (!open) {
      const bool is_strange = open.error().cause == AttemptError::Cause::strange_folder;
      if (!context.folder && is_strange) {
        static_cast<void>(references_->forget(folder->resource));
      } else if (!context.folder) {
        // An earlier context of that id may have left a folder there for the tracker to delete.
        static_cast<void>(references_->release(folder->resource));
      }
      open.error().cause = AttemptError::Cause::location;
      return tl::unexpected(std::move(open).error());
    }
    folder->open = *std::move(open);
    const auto status = os_.status(folder->open->get());
    const Status identified =
        status ? references_->identify(folder->resource, os::identity_of(*status))
               : status_of(status);
    folder->is_identified = identified.has_value();
    if (!identified) {  // It can be used all the same.
      os_.hit(Probe::folder_known_by_name);
      os::report_quietly(os_, [&] {
        return "lastref: " + folder->resource.name +
               " is known by its name alone: " + describe(identified.error());
      });
    }
  }
  if (!context.folder) {
    context.folder = folder;
    folder->exit_hook = std::move(exit_hook);
  }
  return folder;
}

/// Whether files can be made in the context.
Status TemporaryResources::check_open(const Context& context) const {
  if (!context.is_open) {
    return context_closed_error(context.id);
  }
  return shared_->is_at_exit ? Status(exiting_error(context.id)) : ok();
}

Result<std::string> TemporaryResources::make_folder() {
  return os::within_memory("a folder", [&]() -> Result<std::string> {
    LASTREF_TRY(guard, enter_process());
    LASTREF_TRY(context, current());
    const os::MonitorLock held(*monitor_);
    LASTREF_CHECK(check_open(*context));
    auto folder = folder_of(*context);
    return folder ? Result<std::string>((*folder)->resource.name)
                  : failure(static_cast<Error&&>(folder.error()));
  });
}

/// Creates the file under another name, and registers it under its own name with its identity, so
/// that another file is never taken for it. Called with the monitor held: if another call releases
/// the folder, its files are counted by then.
auto TemporaryResources::begin_file(const os::PathAt& part, const Resource& file)
    -> Attempted<os::UniqueFd> {
  LASTREF_TRY(open, os::open_file(os_, part, {.write = true, .create = true}));
  const auto status = os_.status(open.get());
  Status counted = status_of(status);
  if (counted) {
    counted = references_->register_name(file, os::identity_of(*status));
  }
  if (!counted) {
    open.close_quietly();
    discard(part);
    return tl::unexpected(
        AttemptError(std::move(counted).error(),
                     status ? AttemptError::Cause::tracker_refused : AttemptError::Cause::other));
  }
  return open;
}

/// Writes the file, and renames it to its own name when it is complete.
Status TemporaryResources::fill(os::UniqueFd file,
                                const os::PathAt& part,
                                const os::PathAt& whole,
                                const std::function<Status(os::Fd)>& write) {
  Status done = os::within_memory("a file", [&] { return write(file.get()); });
  if (done) {
    done = file.close();
  }
  if (done) {
    done = os_.rename(part, whole);
  }
  if (!done) {
    discard(part);
  }
  return done;
}

void TemporaryResources::discard(const os::PathAt& part) {
  os_.hit(Probe::part_discarded);
  if (const Status removed = os::discard(os_, part); !removed) {
    os::report_quietly(
        os_, [&] { return "lastref: an incomplete file remains: " + describe(removed.error()); });
  }
}

// One sequence of steps, each of which undoes the one before it.
// NOLINTNEXTLINE(readability-function-size)
auto TemporaryResources::attempt(Context& context, const std::function<Status(os::Fd)>& write)
    -> Attempted<std::shared_ptr<const TemporaryFile>> {
  LASTREF_TRY(chance, os::random_hex(os_));
  const std::string name =
      std::to_string(process_) + '-' + std::to_string(os_.thread_id()) + '-' + chance + ".npy";
  std::shared_ptr<Folder> folder;
  std::shared_ptr<os::UniqueFd> open;
  std::shared_ptr<const TemporaryFile> file;
  // Its place among those of the folder: when it is there, nothing that may fail is left to do.
  std::map<std::uint64_t, std::shared_ptr<const TemporaryFile>> place;
  Attempted<os::UniqueFd> begun;
  os::PathAt part(os::Fd::none, name + ".part");
  os::PathAt whole(os::Fd::none, name);
  {
    const os::MonitorLock held(*monitor_);
    LASTREF_CHECK(check_open(context));
    auto made = folder_of(context);
    if (!made) {
      return tl::unexpected(std::move(made).error());
    }
    folder = *std::move(made);
    open = folder->open;
    file = std::make_shared<const TemporaryFile>(folder->resource.name + '/' + name);
    place.emplace(0, file);
    part.folder = whole.folder = open->get();
    begun = begin_file(part, file->resource());
  }
  const bool is_counted = begun.has_value();
  const bool is_refused =
      !is_counted && begun.error().cause == AttemptError::Cause::tracker_refused;
  Status filled = is_counted ? fill(*std::move(begun), part, whole, write)
                             : failure(static_cast<Error&&>(begun.error()));
  if (!filled && !is_refused) {
    filled =
        os::within_memory("a file", [&] { return os::with_path(file->path(), std::move(filled)); });
  }
  auto cause = filled || is_refused ? AttemptError::Cause::other : AttemptError::Cause::location;
  const os::MonitorLock held(*monitor_);
  if (filled && shared_->is_at_exit) {
    static_cast<void>(os::discard(os_, whole));
    filled = os::within_memory("a file", [&]() -> Status { return exiting_error(context.id); });
  } else if (filled && context.folder != folder) {
    // The context was cleaned up, or another thread got an error here and chose another location.
    os_.hit(Probe::file_finished_too_late);
    static_cast<void>(os::discard(os_, whole));
    filled =
        os::within_memory("a file", [&]() -> Status { return context_closed_error(context.id); });
    cause = context.is_open ? AttemptError::Cause::location : AttemptError::Cause::other;
  }
  if (!filled) {
    if (is_counted) {
      static_cast<void>(references_->forget(file->resource()));
    }
    if (filled.error().code == std::errc::no_such_file_or_directory && folder->open == open) {
      folder->open.reset();  // Another process has removed it: next time it is made again.
    }
    return tl::unexpected(AttemptError(std::move(filled).error(), cause));
  }
  file->folder_ = folder;
  file->number_ = ++folder->files_made;
  auto node = place.extract(place.begin());
  node.key() = file->number_;
  folder->files.insert(std::move(node));
  context.has_file = true;
  return file;
}

/// Releases a location that has failed. Called with the monitor held.
void TemporaryResources::abandon(Context& context) {
  os_.hit(Probe::location_abandoned);
  context.shared_memory_failed = true;
  context.location.reset();
  if (const std::shared_ptr<Folder> folder = std::exchange(context.folder, nullptr)) {
    static_cast<void>(let_go_of_folder(folder));
  }
}

Result<std::shared_ptr<const TemporaryFile>> TemporaryResources::publish(
    const std::function<Status(os::Fd)>& write) {
  return os::within_memory("a file", [&]() -> Result<std::shared_ptr<const TemporaryFile>> {
    LASTREF_TRY(guard, enter_process());
    LASTREF_TRY(context, current());
    const auto has_failed = [&] {
      const os::MonitorLock held(*monitor_);
      return context->shared_memory_failed;
    };
    for (int tries = 1;;) {
      const bool had_failed = has_failed();
      auto file = attempt(*context, write);
      if (file || file.error().cause != AttemptError::Cause::location) {
        return file;
      }
      const bool is_gone = file.error().code == std::errc::no_such_file_or_directory;
      const os::MonitorLock held(*monitor_);
      if (context->shared_memory_failed != had_failed) {
        os_.hit(Probe::others_chose_location);
        continue;  // They were faster.
      }
      if (is_gone && tries < os::limits_of(os_).folder_attempts) {
        ++tries;
        continue;
      }
      if (!context->location || !context->location->use_shared_mem) {
        return file;
      }
      if (context->has_file || had_failed) {
        file.error().subject +=
            std::string("; set ") + temp_folder_variables[0] + " to a folder with more space";
        return file;
      }
      abandon(*context);
    }
  });
}

Result<std::optional<Reference>> TemporaryResources::lend(const TemporaryFile& file) {
  return os::within_memory("a file", [&]() -> Result<std::optional<Reference>> {
    LASTREF_TRY(guard, enter_process());
    const os::MonitorLock held(*monitor_);
    if (!file.owned_) {
      return std::optional<Reference>();
    }
    Resource name = file.resource();
    LASTREF_CHECK(references_->hold(name));
    return std::optional<Reference>(Reference(os_, references_, std::move(name), file.ended_));
  });
}

Status TemporaryResources::release(const TemporaryFile& file) {
  return os::within_memory("a file", [&]() -> Status {
    LASTREF_TRY(guard, enter_process());
    const os::MonitorLock held(*monitor_);
    if (!std::exchange(file.owned_, false)) {
      return ok();
    }
    if (const auto folder = std::static_pointer_cast<Folder>(file.folder_.lock())) {
      folder->files.erase(file.number_);
    }
    return references_->release(file.resource());
  });
}

TemporaryResources::~TemporaryResources() {
  if (os_.process_token() != token_) {
    // A thread of the parent may have been changing them when this process was forked.
    keep_until_exit(std::move(contexts_),
                    std::move(current_),
                    std::move(made_),
                    std::move(last_checked_),
                    std::move(left_));
    return;
  }
  const os::MonitorLock held(*monitor_);
  shared_->is_closing.store(/*value=*/true);
  while (shared_->running_calls.load() > 0) {
    monitor_->wait();
  }
  shared_->manager = nullptr;
  // Their exit hooks stay until they are empty: an exit that begins meanwhile waits for this call.
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
std::unique_ptr<os::ExitHook> TemporaryResources::make_exit_hook(
    const std::shared_ptr<Folder>& folder) {
  return os_.at_exit([shared = shared_, weak = std::weak_ptr<Folder>(folder)]()
                         LASTREF_NOT_CHECKED {
                           const os::MonitorLock held(*shared->monitor);
                           const std::shared_ptr<Folder> left = weak.lock();
                           if (shared->manager == nullptr) {
                             return;
                           }
                           shared->is_at_exit = true;
                           if (left && !left->is_finalised) {
                             shared->manager->os_.hit(Probe::folder_deleted_at_exit);
                           }
                           if (left) {
                             shared->manager->finalise(*left);
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
  folder->exit_hook.reset();
  folder->open.reset();
  return references_->release(folder->resource);
}

/// Deletes the folder now, or at the exit of the process.
void TemporaryResources::delete_or_leave(const std::shared_ptr<Folder>& folder,
                                         bool allow_non_empty) {
  folder->open.reset();
  if (delete_folder(os_, folder->resource.name, allow_non_empty)) {
    folder->is_finalised = true;
    folder->exit_hook.reset();
    // They were deleted with the folder; any other holder finds its file missing.
    static_cast<void>(let_go_of_files(*folder));
    static_cast<void>(references_->forget(folder->resource));
  } else {
    os_.hit(Probe::folder_left_to_exit);
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

Status TemporaryResources::forget_all_files(const std::optional<std::string>& context) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(guard, enter_process());
    const os::MonitorLock held(*monitor_);
    Status first = ok();
    for (const auto& [id, each] : contexts_) {
      if (each->folder && (!context || id == *context)) {
        keep_first(first, forget_files(*each->folder));
      }
    }
    return first;
  });
}

Status TemporaryResources::delete_folders(bool allow_non_empty,
                                          const std::optional<std::string>& context) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(guard, enter_process());
    const os::MonitorLock held(*monitor_);
    for (const auto& [id, each] : take_contexts(context)) {
      if (const auto folder = std::exchange(each->folder, nullptr)) {
        delete_or_leave(folder, allow_non_empty);
      }
    }
    return ok();
  });
}

Status TemporaryResources::clean_up(const std::optional<std::string>& context,
                                    CleanUpOptions options) {
  return os::within_memory("a context", [&]() -> Status {
    LASTREF_TRY(guard, enter_process());
    const os::MonitorLock held(*monitor_);
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
