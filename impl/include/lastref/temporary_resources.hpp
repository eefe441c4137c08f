// TemporaryResources: the folders and files that arrays travel through, from their creation to
// their last reference.
//
// A manager has contexts, one of which is current. A context has one folder,
//   <temporary folder>/lastref_memmapping_folder_<pid>_<manager>_<context>
// which is created, and registered with the tracker, with the first file of the context. A file is
// created under another name, and renamed to its own name in one step when it is complete. The
// manager holds one reference to each of its files, and to each folder, until the context is
// cleaned up. Whatever happens to the process, its references end with it.
//
// Pitfalls:
// - To clean up is to release: a file is removed with its last reference, which a receiver may
//   have, and its folder after it. The clean-up does not wait for that.
// - A context that was cleaned up has to be set or registered again before it takes files again. So
//   a late thread cannot bring it back.
// - Every new file has a new name, so a late clean-up never removes a successor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/owners.hpp>
#include <lastref/references.hpp>
#include <lastref/temp_folder.hpp>
#include <lastref/tracker.hpp>

namespace lastref::joblib {

class TemporaryResourcesManager;

}  // namespace lastref::joblib

namespace lastref {

struct TemporaryResourcesOptions {
  std::optional<std::string> root = {};     ///< As `root` of temp_dir.
  std::optional<std::string> context = {};  ///< The first context; by default a random one.
  TempFolderOptions choice = {};
};

struct CleanUpOptions {
  /// For failed workers: end every file, whichever process holds it, and delete the folder with its
  /// contents at once.
  bool force = false;
  bool allow_non_empty = false;
};

/// A file that a manager created. The manager's reference to it ends once.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path)
      : resource_{.type = ResourceType::file, .name = std::move(path)},
        ended_(std::make_shared<std::atomic<bool>>(false)) {}

  const std::string& path() const noexcept { return resource_.name; }
  const Resource& resource() const noexcept { return resource_; }

 private:
  friend class TemporaryResources;

  Resource resource_;
  std::shared_ptr<std::atomic<bool>> ended_;  // by force: ends references in flight too
  // Guarded by the manager's monitor.
  mutable bool owned_ = true;
  mutable std::weak_ptr<void> folder_;
  mutable std::uint64_t number_ = 0;  // among the files of its folder
};

/// All methods may be called from any thread of the process that created it. In a forked child they
/// fail with operation_not_permitted, and the child cleans up nothing.
///
/// Source          joblib _memmapping_reducer.py, TemporaryResourcesManager.
class TemporaryResources {
 public:
  /// Nothing is created or registered before the first file. A relative root, in the options or in
  /// a variable, is resolved now.
  ///
  /// Errors          invalid_argument: a context id that cannot be part of a file name; errors of
  ///                 absolute_path and entropy.
  /// Crossings       entropy, process_id, environment; working_folder for a relative root.
  static Result<std::unique_ptr<TemporaryResources>> make(os::Os& os,
                                                          std::shared_ptr<References> references,
                                                          TemporaryResourcesOptions options = {});

  TemporaryResources(const TemporaryResources&) = delete;
  TemporaryResources& operator=(const TemporaryResources&) = delete;
  /// Deletes each remaining folder with its contents, as the exit of the process does. Waits for
  /// calls of other threads, and for an exit that already cleans up.
  ~TemporaryResources();

  /// Errors          invalid_argument, operation_not_permitted.
  Status set_current_context(const std::string& id);
  /// Does nothing if the context is registered.
  ///
  /// Errors          invalid_argument, operation_not_permitted.
  Status register_new_context(const std::string& id);

  /// Returns the folder of the current context, which need not exist yet.
  ///
  /// Errors          operation_canceled: the context was cleaned up; as temp_dir.
  /// Crossings       those of temp_dir, once per context.
  Result<TempFolder> resolve_temp_folder_name();

  /// Returns the path of that folder, which exists and is registered then. Files that other
  /// processes put into it are deleted with it.
  ///
  /// Errors          as publish.
  /// Crossings       those of temp_dir; make_folder, open, status, status_at. The folder is
  ///                 registered before make_folder.
  Result<std::string> make_folder();

  /// Creates a file in the folder of the current context; `write` writes its contents. The file has
  /// mode 0600, its folder has mode 0700, and both belong to this user from their creation. After
  /// an error nothing remains: no file and no counted name.
  ///
  /// If the manager chose shared memory, and an error occurs there before the context has a file,
  /// the context chooses another location and `write` is called again.
  ///
  /// Errors          operation_canceled: the context is, or meanwhile was, cleaned up, or the
  ///                 process is exiting; permission_denied, not_a_directory: another user's folder
  ///                 is in the way, or could be put there, because others may rename in a parent
  ///                 folder; errors of register_name, `write`, make_folder, open, close and rename.
  ///                 If the manager chose shared memory, the subject also has the variable to set.
  /// Crossings       those of temp_dir; make_folder, open, status, status_at, process_id,
  ///                 thread_id, entropy, write, close, rename; unlink on an error. The folder is
  ///                 registered before make_folder, the file before rename.
  Result<std::shared_ptr<const TemporaryFile>> publish(const std::function<Status(os::Fd)>& write);

  /// Takes one more reference of this process, for a receiver. Returns none if the manager has
  /// released the file.
  ///
  /// Errors          those of hold.
  Result<std::optional<Reference>> lend(const TemporaryFile& file);

  /// Releases one file.
  ///
  /// Errors          those of release.
  Status release(const TemporaryFile& file);

  /// Releases each file, once, and the folder, which is removed when nothing in it is held any
  /// more. Forgets the context. No context means all contexts.
  ///
  /// Errors          the first error of release, or with `force` of forget; the rest is done all
  ///                 the same.
  /// Crossings       release; delete_folder's with an option, or without attributed references.
  Status clean_up(const std::optional<std::string>& context = {}, CleanUpOptions options = {});

 private:
  friend class joblib::TemporaryResourcesManager;
  struct Context;
  /// A folder that was created: the manager holds a reference to it.
  struct Folder;
  /// State that outlives the manager, for calls that run when it is destroyed.
  struct SharedState;
  class CallGuard;
  using ContextPtr = std::shared_ptr<Context>;
  struct AttemptError;
  template <typename Value>
  using Attempted = tl::expected<Value, AttemptError>;

  TemporaryResources(os::Os& os,
                     std::shared_ptr<References> references,
                     TemporaryResourcesOptions options);

  Result<CallGuard> enter_process() const;
  Result<ContextPtr> current();

  Status check_open(const Context& context) const LASTREF_REQUIRES(*monitor_);
  Status choose(Context& context) LASTREF_REQUIRES(*monitor_);
  void take_back(Context& context) LASTREF_REQUIRES(*monitor_);
  Attempted<std::shared_ptr<Folder>> folder_of(Context& context) LASTREF_REQUIRES(*monitor_);
  Attempted<std::shared_ptr<os::UniqueFd>> enter(const TempFolder& location)
      LASTREF_REQUIRES(*monitor_);
  void abandon(Context& context) LASTREF_REQUIRES(*monitor_);
  void remember(const std::string& folder) LASTREF_REQUIRES(*monitor_);
  std::unique_ptr<os::ExitHook> make_exit_hook(const std::shared_ptr<Folder>& folder)
      LASTREF_REQUIRES(*monitor_);
  /// See unregister_temporary_resources and try_delete_folder.
  Status forget_all_files(const std::optional<std::string>& context);
  Status delete_folders(bool allow_non_empty, const std::optional<std::string>& context);
  std::map<std::string, ContextPtr> take_contexts(const std::optional<std::string>& id)
      LASTREF_REQUIRES(*monitor_);
  Status let_go_of_files(Folder& folder) LASTREF_REQUIRES(*monitor_);
  Status forget_files(Folder& folder) LASTREF_REQUIRES(*monitor_);
  Status let_go_of_folder(const std::shared_ptr<Folder>& folder) LASTREF_REQUIRES(*monitor_);
  void delete_or_leave(const std::shared_ptr<Folder>& folder, bool allow_non_empty)
      LASTREF_REQUIRES(*monitor_);
  void finalise(Folder& folder) LASTREF_REQUIRES(*monitor_);

  Attempted<std::shared_ptr<const TemporaryFile>> attempt(
      Context& context, const std::function<Status(os::Fd)>& write);
  Attempted<os::UniqueFd> begin_file(const os::PathAt& part, const Resource& file);
  Status fill(os::UniqueFd file,
              const os::PathAt& part,
              const os::PathAt& whole,
              const std::function<Status(os::Fd)>& write);
  void discard(const os::PathAt& part);

  os::Os& os_;
  std::shared_ptr<References> references_;
  TemporaryResourcesOptions options_;
  os::Pid process_;
  std::uint64_t token_;
  std::string id_;
  std::shared_ptr<SharedState> shared_;
  os::Monitor* monitor_;  // the shared state's
  std::map<std::string, ContextPtr> contexts_ LASTREF_GUARDED_BY(*monitor_);
  std::string current_ LASTREF_GUARDED_BY(*monitor_);
  bool has_swept_ LASTREF_GUARDED_BY(*monitor_) = false;
  /// Folders that may exist, of any use of a context.
  std::set<std::string> made_ LASTREF_GUARDED_BY(*monitor_);
  std::string last_checked_ LASTREF_GUARDED_BY(*monitor_);  // the last of them that was checked
  /// Left to the exit of the process.
  std::vector<std::shared_ptr<Folder>> left_ LASTREF_GUARDED_BY(*monitor_);
};

/// Cleans up the leftovers of every orphaned tree, including folders of arrays, and those of
/// processes that were killed while they tried a location. Never removes anything that a live
/// process has.
///
/// Errors          as tracker::sweep, after all else was done.
Result<tracker::Swept> sweep(os::Os& os, const std::string& runtime_folder);

}  // namespace lastref
