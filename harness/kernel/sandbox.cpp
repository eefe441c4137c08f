#include "harness/kernel/sandbox.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <lastref/error.hpp>

#include "harness/kernel/control_block.hpp"
#include "harness/kernel/kernel_limits.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/folder.hpp"
#include "harness/platform/namespaces.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {
namespace {

constexpr const char* shm = "/dev/shm";
/// Folders that the product uses if it finds nothing better, and the names under which they are
/// checked afterwards.
struct LastResort {
  const char* path;
  const char* name;
};
constexpr LastResort last_resorts[] = {{"/tmp", "/last_tmp"}, {"/var/tmp", "/last_var_tmp"}};

constexpr std::string_view first_pid = "1";
constexpr mode_t open_folder = 0700;
constexpr mode_t shared_folder = 01777;

/// Variables that may decide where the product puts files, in addition to the two that the sandbox
/// sets.
constexpr std::array temp_folder_names = {
    "LASTREF_TEMP_FOLDER", "JOBLIB_TEMP_FOLDER", "TEMP", "TMP", "HOME"};

/// Removes a file of any type. Returns the result of rmdir(2).
int remove(const std::string& path) noexcept {
  return ::unlink(path.c_str()) == 0 ? 0 : ::rmdir(path.c_str());
}

/// Occupies a page of that file system until the server ends. To tmpfs, size 0 means no limit, so
/// something must be in use before the limit can be zero additional pages. Linux,
/// filesystems/tmpfs.rst
void use_a_page(const char* folder) noexcept {
  UniqueFd page(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const ssize_t written = ::write(page.get(), "", 1);
  LASTREF_ASSERT(written == 1);
  move_to(std::move(page), harness_fd::ballast);
}

std::string said(const char* what) {
  return std::string(what) + ": " + strerrordesc_np(errno);
}

/// For a process that may not unshare: runs a child that unshares, and waits for its own child, the
/// server. It closes its copies of the program's descriptors: they would keep streams open, and the
/// server waits for the end of these.
[[noreturn]] void be_between(void (*body)(void*, const std::string&), void* with) {
  if (!enter_user_namespace(CLONE_NEWPID | CLONE_NEWNS, /*as_root=*/true)) {
    body(with, said("namespaces"));
    std::abort();
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Reset when capabilities are gained. prctl(2)
  const pid_t server = ::fork();
  if (server == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(with, {});
    std::abort();
  }
  ::close_range(0, ~0U, 0);
  reap(server);
  ::_exit(0);
}

}  // namespace

int fork_server(void (*body)(void* with, const std::string& missing), void* with) {
  bool permitted = false;
  const pid_t child = fork_first_process(permitted);
  if (child == 0) {
    if (!permitted) {
      be_between(body, with);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool has_mounts = ::unshare(CLONE_NEWNS) == 0;
    body(with, has_mounts ? std::string() : said("a mount namespace"));
    std::abort();
  }
  return child;
}

Sandbox::Sandbox(std::string missing) : degraded_(std::move(missing)) {
  if (degraded_.empty()) {
    mount_all();
  }
  if (!degraded_.empty()) {
    fall_back();
  }
  files_ = root_ + "/files";
  runtime_ = root_ + "/runtime";
  elsewhere_ = root_ + "/elsewhere";
  for (const std::string& folder : {files_, elsewhere_}) {
    const int made = ::mkdir(folder.c_str(), open_folder);
    LASTREF_ASSERT(made == 0 || errno == EEXIST);
  }
  set_environment();
  // The working folder is the last place where the product puts temporary files.
  const int moved = ::chdir(spare_.c_str());
  LASTREF_ASSERT(moved == 0);
  // The umask must not hide anything from others by chance: what the run creates has the mode that
  // it requested.
  ::umask(0);
  move_to(UniqueFd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)), harness_fd::world_proc);
  move_to(UniqueFd(::memfd_create("stderr", MFD_CLOEXEC)), harness_fd::standard_error);
  ::fcntl(harness_fd::standard_error, F_SETFL, O_APPEND);
  UniqueFd last_pid(::open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC));
  if (last_pid) {
    move_to(std::move(last_pid), harness_fd::last_pid);
  }
}

void Sandbox::set_environment() const noexcept {
  // One thread, of a process of our own.
  // NOLINTBEGIN(concurrency-mt-unsafe)
  ::setenv("LASTREF_RUNTIME_FOLDER", runtime_.c_str(), 1);
  ::setenv("TMPDIR", spare_.c_str(), 1);
  for (const char* name : temp_folder_names) {
    ::unsetenv(name);
  }
  // NOLINTEND(concurrency-mt-unsafe)
}

void Sandbox::mount_all() {
  const std::string options = std::string("mode=1777,") + whole_storage;
  if (!keep_mounts_private()) {
    degraded_ = said("private mounts");
  } else if (!mount_tmpfs("world", shm, options)) {
    degraded_ = said("a private /dev/shm");
  } else if (!mount_proc()) {
    degraded_ = said("a private /proc");
  }
  root_ = std::string(shm) + "/world";
  spare_ = root_ + "/tmp";
  if (!degraded_.empty()) {
    return;
  }
  for (const std::string& folder : {root_, spare_}) {
    const int made = ::mkdir(folder.c_str(), open_folder);
    LASTREF_ASSERT(made == 0);
  }
  if (!mount_tmpfs("spare", spare_)) {
    degraded_ = said("a private $TMPDIR");
    return;
  }
  for (const LastResort& each : last_resorts) {
    const std::string folder = root_ + each.name;
    const int made = ::mkdir(folder.c_str(), open_folder);
    LASTREF_ASSERT(made == 0);
    const bool mounted = mount_tmpfs("spare", folder) &&
                         ::mount(folder.c_str(), each.path, nullptr, MS_BIND, nullptr) == 0;
    if (!mounted && errno != ENOENT) {
      degraded_ = said("a private /tmp");
      return;
    }
  }
  use_a_page(shm);
}

void Sandbox::fall_back() {
  degraded_ +=
      "; runs share pids and /dev/shm with the machine, and names there are not looked after";
  root_.assign(shm).append("/").append(folder_of_shared_world).append("XXXXXX");
  // Several servers with process namespaces of their own have the same pid, so mkdtemp chooses the
  // name.
  const char* made_root = ::mkdtemp(root_.data());
  LASTREF_ASSERT(made_root != nullptr);
  spare_ = root_ + "/tmp";
  const int made = ::mkdir(spare_.c_str(), open_folder);
  LASTREF_ASSERT(made == 0);
  ::chmod(spare_.c_str(), shared_folder);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool Sandbox::is_ours(const std::string& path) const {
  return path == root_ || path == files_ || path == runtime_ || path == spare_ ||
         path == elsewhere_ || std::ranges::any_of(last_resorts, [&](const LastResort& each) {
           return path == root_ + each.name;
         });
}

void Sandbox::prepare() noexcept {
  if (degraded_.empty()) {
    [[maybe_unused]] const auto written =
        ::pwrite(harness_fd::last_pid, first_pid.data(), first_pid.size(), 0);
  }
  [[maybe_unused]] const int cut = ::ftruncate(harness_fd::standard_error, 0);
}

void Sandbox::restore() const noexcept {
  if (degraded_.empty()) {
    give_storage_back();
    ::chmod(shm, shared_folder);
  }
  ::chmod(root_.c_str(), open_folder);
  ::chmod(files_.c_str(), open_folder);
  ::chmod(spare_.c_str(), shared_folder);
}

bool Sandbox::give_to(std::uint32_t user) const noexcept {
  bool given = true;
  for (const std::string& folder : {root_, files_, spare_, elsewhere_}) {
    given = ::chown(folder.c_str(), user, user) == 0 && given;
  }
  return given;
}

std::vector<std::string> Sandbox::left() const {
  std::vector<std::string> paths;
  for (const auto& each : entries_below(watched(), Unreadable::are_opened)) {
    if (!is_ours(each.path())) {
      paths.push_back(each.path());
    }
  }
  return paths;
}

void Sandbox::wipe() const {
  const auto entries = entries_below(watched(), Unreadable::are_opened);
  // The contents of a folder are listed after it.
  for (auto each = entries.rbegin(); each != entries.rend(); ++each) {
    const std::string path = each->path();
    if (path == runtime_ || !is_ours(path)) {
      int gone = remove(path);
      if (gone != 0 && errno == EACCES) {
        ::chmod(path.substr(0, path.rfind('/')).c_str(), open_folder);
        gone = remove(path);
      }
      LASTREF_ASSERT(gone == 0 || !degraded_.empty());
    }
  }
}

void Sandbox::leave() const {
  wipe();
  if (!degraded_.empty()) {
    for (const std::string& folder : {files_, spare_, elsewhere_, root_}) {
      ::rmdir(folder.c_str());
    }
  }
}

std::string Sandbox::watched() const {
  return degraded_.empty() ? shm : root_;
}

std::string Sandbox::standard_error() const {
  struct stat status {};
  const int told = ::fstat(harness_fd::standard_error, &status);
  LASTREF_ASSERT(told == 0);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t size = ::pread(harness_fd::standard_error, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

}  // namespace lastref::harness
