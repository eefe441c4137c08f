#include "harness/warden/proc_inspect.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <system_error>

#include <climits>
#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

std::int64_t read_memory(int thread, std::uint64_t address, void* into, std::size_t size) {
  iovec here{.iov_base = into, .iov_len = size};
  iovec there{.iov_base = std::bit_cast<void*>(address), .iov_len = size};
  return ::process_vm_readv(thread, &here, 1, &there, 1, 0);
}

std::optional<std::string> text_at(int thread, std::uint64_t address) {
  std::string text;
  // Initializing this array would cost as much as reading the text.
  std::array<char, page> part;
  while (text.size() < PATH_MAX) {
    // Few names are longer, and bytes copied after the end of a name are wasted.
    constexpr std::size_t short_text = 256;
    const std::uint64_t from = address + text.size();
    // Up to the end of a page: the next one may not be mapped.
    const std::size_t size = std::min(text.empty() ? short_text : page, page - from % page);
    const std::int64_t got = read_memory(thread, from, part.data(), size);
    if (got <= 0) {
      return std::nullopt;
    }
    const std::string_view read(part.data(), static_cast<std::size_t>(got));
    const std::size_t end = read.find('\0');
    text.append(read.substr(0, end));
    if (end != std::string_view::npos) {
      return text;
    }
  }
  return std::nullopt;
}

namespace {

/// Whether no "/" is followed by ".", by another "/", or by the end of the path; "/" is normal.
bool is_normal(std::string_view path) noexcept {
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    const char next = at + 1 < path.size() ? path[at + 1] : '/';
    if (next == '.' || next == '/') {
      return path == "/";
    }
  }
  return true;
}

/// Removes ".", "..", and redundant "/"; most paths have none of them.
std::string normal(std::string path) {
  if (is_normal(path)) {
    return path;
  }
  if (path.find("/..") != std::string::npos) {
    // The parent of a link's target is not the folder that contains the link.
    std::error_code error;
    const auto found = std::filesystem::weakly_canonical(path, error);
    path = error ? path : found.string();
  }
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return std::filesystem::path(path).lexically_normal().string();
}

/// Replaces names by which a thread refers to itself in /proc: for us they would mean us.
std::string as_seen_by(int thread, std::string path) {
  if (!path.starts_with("/proc/") && !path.starts_with("/dev/fd/")) {
    return path;
  }
  const std::string its_own = fmt::format("/proc/{}/", thread);
  for (const std::string_view start :
       {"/proc/self/task/", "/proc/self/", "/proc/thread-self/", "/dev/fd/"}) {
    if (path.starts_with(start)) {
      const bool is_task = start == "/proc/self/task/";
      const std::string instead = its_own + (is_task ? "task/" : start == "/dev/fd/" ? "fd/" : "");
      path.replace(0, start.size(), instead);
      std::error_code error;
      const std::filesystem::path name = path;
      const auto folder = std::filesystem::canonical(name.parent_path(), error);
      path = error ? path : (folder / name.filename()).string();
      // Its number differs in the next run.
      return path.starts_with(its_own) ? "/proc/self/" + path.substr(its_own.size()) : path;
    }
  }
  return path;
}

/// The prefix of a thread's absolute names: its root may differ from ours. chroot(2)
std::string root_of(int thread) {
  const auto root = link_at(fmt::format("/proc/{}/root", thread));
  return !root || *root == "/" ? "" : *root;
}

/// The name in a socket's address; absent: it has none in a file system. unix(7)
std::optional<std::string> text_in_address(const Notification& call, int at) {
  sockaddr_un address{};
  const std::uint64_t size = call.arguments[static_cast<std::size_t>(at) + 1];
  const bool is_read = read_memory(call.thread,
                                   call.arguments[static_cast<std::size_t>(at)],
                                   &address,
                                   std::min<std::uint64_t>(size, sizeof address - 1)) > 0;
  return is_read && address.sun_family == AF_UNIX && address.sun_path[0] != '\0'
             ? std::optional<std::string>(address.sun_path)
             : std::nullopt;
}

}  // namespace

std::optional<std::string> path_at(const Notification& call, const NameAt& name, bool other_roots) {
  auto text = name.in_address
                  ? text_in_address(call, name.path)
                  : text_at(call.thread, call.arguments[static_cast<std::size_t>(name.path)]);
  if (!text) {
    return std::nullopt;
  }
  if (name.in_queues) {
    return "/dev/mqueue/" + *text;
  }
  if (text->starts_with('/')) {
    if (other_roots) {
      text->insert(0, root_of(call.thread));
    }
    return as_seen_by(call.thread, normal(*std::move(text)));
  }
  const int folder = name.folder < 0
                         ? AT_FDCWD
                         : static_cast<int>(call.arguments[static_cast<std::size_t>(name.folder)]);
  const auto below = folder == AT_FDCWD
                         ? link_at(fmt::format("/proc/{}/cwd", call.thread))
                         : link_at(fmt::format("/proc/{}/fd/{}", call.thread, folder));
  if (!below) {
    return std::nullopt;
  }
  return normal(*below + '/' + *text);
}

std::string without_number(const std::string& object) {
  const std::size_t number = object.starts_with('/') ? std::string::npos : object.find(":[");
  const bool is_numbered = number != std::string::npos && std::isdigit(object[number + 2]) != 0;
  return is_numbered ? object.substr(0, number) : object;
}

std::uint64_t word_at(int thread, std::uint64_t address) {
  std::uint64_t word = 0;
  return read_memory(thread, address, &word, sizeof word) == sizeof word ? word : 0;
}

std::uint64_t open_flags_of(const Notification& call, const SyscallRow& row) {
  const std::uint64_t given = call.arguments[static_cast<std::size_t>(row.flags)];
  return row.flags_are_far ? word_at(call.thread, given) : given;
}

std::vector<int> descendants(const UnrelatedChildren& unrelated) {
  std::vector<int> all = children_of(::getpid());
  std::erase_if(all, [&](int each) {
    return each == unrelated.init || std::ranges::find(unrelated.all, each) != unrelated.all.end();
  });
  if (unrelated.init > 0) {
    std::ranges::copy(children_of(unrelated.init), std::back_inserter(all));
  }
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::ranges::copy(children_of(all[at]), std::back_inserter(all));
  }
  return all;
}

std::optional<std::string> lost_rights_of(const Notification& call, const SyscallRow& row) {
  if (::geteuid() == 0) {
    return std::nullopt;  // Root may install the filter without PR_SET_NO_NEW_PRIVS.
  }
  const auto path = path_at(call, row.first);
  struct stat status {};
  if (!path || ::stat(path->c_str(), &status) != 0) {
    return std::nullopt;
  }
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) {
    return "set-uid";
  }
  return (status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid() ? std::optional("set-gid")
                                                                         : std::nullopt;
}

bool ignores_rights(int process) {
  constexpr std::uint64_t of_files = 0b110;  // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
  return (bits_of_status(process, "CapEff").value_or(0) & of_files) != 0;
}

}  // namespace lastref::harness::warden
