// TemporaryResources: the folders and files that arrays travel through, from their first instant to
// their last reference.
//
// A manager has contexts, one at a time the current one; a context has one folder,
//   <temporary folder>/lastref_memmapping_folder_<pid>_<manager>_<context>
// which is made, and known to the tracker, when the first file of the context is. A file is made
// under another name, and gets its own in one step when it is complete. The manager holds one
// reference to each of its files, and to each folder, until the context is cleaned up; whatever
// happens to the process, its references end with it.
//
// What a newcomer would get wrong:
// - To clean up is to let go: a file goes with its last reference, which a receiver may have, and
//   its folder after it. Nobody waits for that.
// - A context that was cleaned up has to be set or registered anew before it takes files again. So
//   a thread that comes late cannot bring it back.
// - Every life of a file has a name of its own, so a late clean-up never meets a successor.
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

namespace lastref {

struct TemporaryResourcesOptions {
  std::optional<std::string> root = {};     ///< As `root` of temp_dir.
  std::optional<std::string> context = {};  ///< The first one; by default a random one.
  TempFolderOptions choice = {};
};

struct CleanUpOptions {
  /// Workers have failed: end every file, whoever holds it, and delete the folder with what is in
  /// it, at once.
  bool force = false;
  bool allow_non_empty = false;
};

/// A file that a manager made. Its own reference to it ends once.
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
  std::shared_ptr<std::atomic<bool>> ended_;  // by force: what is on its way is not counted either
  // Guarded by the manager's monitor.
  mutable bool owned_ = true;
  mutable std::weak_ptr<void> folder_;
  mutable std::uint64_t number_ = 0;  // among the files of its folder
};

/// All methods may be called from any thread of the process that made it. In a forked child they
/// say operation_not_permitted, and nothing is cleaned up by it.
///
/// Source          joblib _memmapping_reducer.py, TemporaryResourcesManager.
class TemporaryResources {
 public:
  /// Nothing is created or registered before the first file. A relative root, be it named here or
  /// by a variable, is where it is now.
  ///
  /// Errors          invalid_argument: a context id that cannot be part of a file name; what
  ///                 absolute_path and entropy said.
  /// Crossings       entropy, process_id, environment; working_folder for a relative root.
  static Result<std::unique_ptr<TemporaryResources>> make(os::Os& os,
                                                          std::shared_ptr<References> references,
                                                          TemporaryResourcesOptions options = {});

  TemporaryResources(const TemporaryResources&) = delete;
  TemporaryResources& operator=(const TemporaryResources&) = delete;
  /// As at the exit of the process: each folder that is left is deleted, with what is in it. Waits
  /// for the calls of other threads, and for an exit that cleans up already.
  ~TemporaryResources();

  /// Errors          invalid_argument, operation_not_permitted.
  Status set_current_context(const std::string& id);
  /// Does nothing if it is registered.
  ///
  /// Errors          invalid_argument, operation_not_permitted.
  Status register_new_context(const std::string& id);

  /// The folder of the current context, which need not be there yet.
  ///
  /// Errors          operation_canceled: the context was cleaned up; as temp_dir.
  /// Crossings       those of temp_dir, once a context.
  Result<TempFolder> resolve_temp_folder_name();

  /// A new file in the folder of the current context, with what `write` writes to it; mode 0600 in
  /// a folder of mode 0700, both ours, from their first instant. On any error nothing is left: no
  /// file, no name that is counted.
  ///
  /// As long as a context has no file yet, an error on shared memory that we chose makes it choose
  /// again, and `write` is called again.
  ///
  /// Errors          operation_canceled: the context is, or meanwhile was, cleaned up, or the
  ///                 process is at its exit; permission_denied, not_a_directory: a stranger's
  ///                 folder is in the way, or would be if he liked, for others may rename in a
  ///                 folder above; what
  ///                 register_name, `write`, make_folder, open, close or rename said. For shared
  ///                 memory that we chose, with the variable to set as part of the subject.
  /// Crossings       those of temp_dir; make_folder, open, status, status_at, process_id,
  ///                 thread_id, entropy, write, close, rename; unlink on an error. Register before
  ///                 make_folder, and before open.
  Result<std::shared_ptr<const TemporaryFile>> publish(const std::function<Status(os::Fd)>& write);

  /// One more reference of this process, for a receiver; none if the manager has let go of the
  /// file.
  ///
  /// Errors          what hold said.
  Result<std::optional<Reference>> lend(const TemporaryFile& file);

  /// Lets go of one file.
  ///
  /// Errors          what release said.
  Status release(const TemporaryFile& file);

  // The verbs of joblib 1.1. No context means all.

  /// Lets go of each file, once, and of the folder, which goes when nothing in it is held any more.
  /// Forgets the context.
  ///
  /// Differs: joblib gives one reference back for each file that lies in the folder, whoever's it
  /// is, each time it is called; and it leaves a folder that is not empty yet to the process's
  /// exit. With a tracker that does not attribute references (loky's) the latter is so here too.
  ///
  /// Errors          the first that release said; the rest is done all the same.
  /// Crossings       release; delete_folder's without attributed references.
  Status unlink_temporary_resources(const std::optional<std::string>& context = {});

  /// Ends the names of the files that this manager still owns, whoever holds them; they stay.
  ///
  /// Errors          the first that forget said; the rest is done all the same.
  Status unregister_temporary_resources(const std::optional<std::string>& context = {});

  /// Deletes the folder and forgets the context. What cannot be deleted now is left to the exit of
  /// the process, and no error.
  ///
  /// Errors          operation_not_permitted.
  Status try_delete_folder(bool allow_non_empty, const std::optional<std::string>& context = {});

  /// The verb of joblib 1.3: unlink_temporary_resources, or with `force` unregister and delete.
  ///
  /// Errors          as those.
  Status clean_temporary_resources(const std::optional<std::string>& context = {},
                                   CleanUpOptions options = {});

 private:
  struct Context;
  /// A folder that was made: the manager holds a reference to it.
  struct Folder;
  /// What outlives the manager for those who are in it when it goes.
  struct Life;
  class Visit;
  using ContextPtr = std::shared_ptr<Context>;

  TemporaryResources(os::Os& os,
                     std::shared_ptr<References> references,
                     TemporaryResourcesOptions options);

  Result<Visit> enter_process() const;
  Result<ContextPtr> current();

  // With the monitor held.
  Status choose(Context& context);
  void take_back(Context& context);
  Result<std::shared_ptr<Folder>> folder_of(Context& context, bool& is_of_location);
  Result<std::shared_ptr<os::UniqueFd>> enter(const TempFolder& location, bool& is_strange);
  void abandon(Context& context);
  void remember(const std::string& folder);
  std::unique_ptr<os::ExitHook> finalise_at_exit(const std::shared_ptr<Folder>& folder);
  std::map<std::string, ContextPtr> take_contexts(const std::optional<std::string>& id);
  Status let_go_of_files(Folder& folder);
  Status forget_files(Folder& folder);
  Status let_go_of_folder(const std::shared_ptr<Folder>& folder);
  void delete_or_leave(const std::shared_ptr<Folder>& folder, bool allow_non_empty);
  void finalise(Folder& folder);

  // Without it.
  Result<std::shared_ptr<const TemporaryFile>> attempt(Context& context,
                                                       const std::function<Status(os::Fd)>& write,
                                                       bool& is_of_location);
  Result<os::UniqueFd> begin_file(const os::PathAt& part, const Resource& file, bool& is_refused);
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
  std::shared_ptr<Life> life_;
  os::Monitor* monitor_;  // the life's
  std::map<std::string, ContextPtr> contexts_;
  std::string current_;
  bool has_swept_ = false;
  std::set<std::string> made_;                 // folders that may be there, of any life
  std::string looked_at_;                      // the last of them that was looked at
  std::vector<std::shared_ptr<Folder>> left_;  // to the exit of the process
};

/// Cleans up behind every tree that was killed whole, folders of arrays included, and behind those
/// who were killed while they looked for a location. Never touches what a live process has.
///
/// Errors          as tracker::sweep, after all else was done.
Result<tracker::Swept> sweep(os::Os& os, const std::string& runtime_folder);

}  // namespace lastref
