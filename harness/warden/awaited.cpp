#include "harness/warden/awaited.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <iterator>
#include <sstream>

#include <climits>
#include <fmt/format.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {
namespace {

std::vector<int> polled(int process, std::uint64_t address, std::uint64_t count) {
  constexpr std::uint64_t count_max = 1024;
  std::vector<pollfd> items(std::min(count, count_max));
  const std::size_t size = items.size() * sizeof(pollfd);
  const auto got = read_memory(process, address, items.data(), size);
  std::vector<int> descriptors;
  if (count > count_max || got != static_cast<std::int64_t>(size)) {
    return descriptors;
  }
  for (const pollfd& each : items) {
    if (each.fd >= 0) {
      descriptors.push_back(each.fd);
    }
  }
  return descriptors;
}

/// The kernel reads whole words of a set.
std::vector<int> selected(int process, const InCall& call) {
  constexpr std::uint64_t bits = 64;
  std::vector<int> descriptors;
  for (std::uint64_t first = 0; first < call.arguments[0]; first += bits) {
    std::uint64_t word = 0;
    for (const std::size_t set : {1U, 2U, 3U}) {
      const std::uint64_t address = call.arguments[set];
      word |= address == 0 ? 0 : word_at(process, address + first / CHAR_BIT);
    }
    for (std::uint64_t bit = 0; bit < bits && first + bit < call.arguments[0]; ++bit) {
      if ((word >> bit & 1) != 0) {
        descriptors.push_back(static_cast<int>(first + bit));
      }
    }
  }
  return descriptors;
}

std::string fdinfo_of(int process, int descriptor) {
  return read_file(fmt::format("/proc/{}/fdinfo/{}", process, descriptor));
}

/// The file that a process has at this number; 0: none.
std::uint64_t inode_at(int process, int descriptor) {
  struct stat status {};
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// The socket that a connected socket of AF_UNIX sends to; absent: not known. sock_diag(7)
std::optional<std::uint32_t> peer_of(std::uint32_t inode) {
  const UniqueFd link(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0U;
  question.request.udiag_ino = inode;
  question.request.udiag_show = UDIAG_SHOW_PEER;
  question.request.udiag_cookie[0] = question.request.udiag_cookie[1] = ~0U;
  std::array<char, 1024> answer{};
  if (!link || ::send(link.get(), &question, sizeof question, 0) < 0) {
    return std::nullopt;
  }
  const ssize_t got = ::recv(link.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr header{};
  unix_diag_msg about{};
  std::size_t at = sizeof header + sizeof about;
  if (got < static_cast<ssize_t>(at)) {
    return std::nullopt;
  }
  std::memcpy(&header, answer.data(), sizeof header);
  std::memcpy(&about, &answer[sizeof header], sizeof about);
  // A datagram may come from any socket.
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || about.udiag_type == SOCK_DGRAM) {
    return std::nullopt;
  }
  const auto end = static_cast<std::size_t>(got);
  for (nlattr attribute{}; at + sizeof attribute <= end;
       at += NLMSG_ALIGN(std::max<std::size_t>(attribute.nla_len, sizeof attribute))) {
    std::memcpy(&attribute, &answer[at], sizeof attribute);
    std::uint32_t peer = 0;
    if (attribute.nla_type == UNIX_DIAG_PEER && at + sizeof attribute + sizeof peer <= end) {
      std::memcpy(&peer, &answer[at + sizeof attribute], sizeof peer);
      return peer;
    }
  }
  return std::nullopt;
}

bool has_time_limit(int process, int socket) {
  const UniqueFd ours = copy_fd_of(process, socket);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    timeval limit{};
    socklen_t size = sizeof limit;
    if (::getsockopt(ours.get(), SOL_SOCKET, option, &limit, &size) != 0 || limit.tv_sec != 0 ||
        limit.tv_usec != 0) {
      return true;
    }
  }
  return false;
}

using Ends = std::optional<std::vector<std::string>>;

/// The other end of a connection within the tree
Ends ends_of_socket(int process, int descriptor, const Tree& tree) {
  const auto inode = static_cast<std::uint32_t>(inode_at(process, descriptor));
  const auto peer = peer_of(inode);
  const std::string name = fmt::format("socket:[{}]", peer.value_or(0));
  const bool is_inside =
      peer && std::ranges::any_of(tree.processes, [&](int each) {
        const auto all = descriptors_of(each);
        return std::ranges::any_of(all, [&](const auto& one) { return one.second == name; });
      });
  if (!is_inside || tree.outside.contains(name) || has_time_limit(process, descriptor)) {
    return std::nullopt;
  }
  return std::vector{name};
}

/// Those of all descriptors of an epoll instance; absent: also if it has none.
/// "tfd: 5 events: 19 data: 5 pos:0 ino:7 sdev:e"
Ends ends_of_epoll(int process, const std::string& fdinfo, const Tree& tree) {
  Ends ends;
  std::istringstream lines(fdinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    int descriptor = -1;
    if (!(words >> word >> descriptor) || word != "tfd:") {
      continue;
    }
    const std::size_t at = line.find(" ino:");
    const auto inode =
        at == std::string::npos
            ? std::nullopt
            : number_in<std::uint64_t>(std::string_view(line).substr(at + 5), /*base=*/16);
    // A number may refer to another file by now, which epoll does not watch.
    const auto more = inode && *inode == inode_at(process, descriptor)
                          ? ends_inside(process, descriptor, tree)
                          : std::nullopt;
    if (!more) {
      return std::nullopt;
    }
    ends = ends.value_or(std::vector<std::string>());
    ends->insert(ends->end(), more->begin(), more->end());
  }
  return ends;
}

std::string eventfd_of(const std::string& fdinfo) {
  const std::string_view id = field_in(fdinfo, "eventfd-id");
  return id.empty() ? "" : fmt::format("eventfd {}", id);
}

/// As in ends_inside
std::string end_at(int process, int descriptor, const std::string& object) {
  return object == "anon_inode:[eventfd]" ? eventfd_of(fdinfo_of(process, descriptor)) : object;
}

}  // namespace

bool come_from_children(int process, std::uint64_t signals) {
  const auto bit = [](int signal) { return std::uint64_t{1} << static_cast<unsigned>(signal - 1); };
  return (signals & bit(SIGCHLD)) != 0 &&
         (signals & ~(bit(SIGCHLD) | bit(SIGINT) | bit(SIGQUIT))) == 0 &&
         !children_of(process).empty();
}

bool has_time_limit(const InCall& call) noexcept {
  switch (call.number) {
    case SYS_poll:
      return static_cast<int>(call.arguments[2]) >= 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return static_cast<int>(call.arguments[3]) >= 0;
    case SYS_ppoll:
    case SYS_rt_sigtimedwait:
      return call.arguments[2] != 0;
    case SYS_epoll_pwait2:
    case SYS_semtimedop:
      return call.arguments[3] != 0;
    case SYS_select:
    case SYS_pselect6:
      return call.arguments[4] != 0;
    default:
      return false;
  }
}

std::vector<int> descriptors_awaited(int process, const InCall& call) {
  switch (call.number) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return {static_cast<int>(call.arguments[0])};
    case SYS_poll:
    case SYS_ppoll:
      return polled(process, call.arguments[0], call.arguments[1]);
    case SYS_select:
    case SYS_pselect6:
      return selected(process, call);
    default:
      return {};
  }
}

Ends ends_inside(int process, int descriptor, const Tree& tree) {
  const std::string object = descriptor_at(process, descriptor);
  if (tree.outside.contains(object)) {
    return std::nullopt;
  }
  if (object.starts_with("pipe:")) {
    return std::vector{object};
  }
  if (object.starts_with("socket:")) {
    return ends_of_socket(process, descriptor, tree);
  }
  const std::string fdinfo = fdinfo_of(process, descriptor);
  if (object == "anon_inode:[eventpoll]") {
    return ends_of_epoll(process, fdinfo, tree);
  }
  if (object == "anon_inode:[eventfd]") {
    const std::string end = eventfd_of(fdinfo);
    return end.empty() ? std::nullopt : Ends({end});
  }
  if (object == "anon_inode:[signalfd]") {
    const auto mask = number_in<std::uint64_t>(field_in(fdinfo, "sigmask"), /*base=*/16);
    return mask && come_from_children(process, *mask) ? Ends(std::vector<std::string>())
                                                      : std::nullopt;
  }
  // "pidfd:[7]" since Linux 6.9
  const bool is_process = object == "anon_inode:[pidfd]" || object.starts_with("pidfd:");
  const auto other = number_in<int>(field_in(fdinfo, "Pid"));
  return is_process && other && std::ranges::find(tree.processes, *other) != tree.processes.end()
             ? Ends(std::vector<std::string>())
             : std::nullopt;
}

std::vector<int> holders_of(const std::vector<std::string>& ends,
                            bool writes,
                            const std::vector<int>& processes) {
  const auto can_cause = [&](int process, int descriptor, const std::string& object) {
    const std::string end = end_at(process, descriptor, object);
    const auto flags =
        number_in<int>(field_in(fdinfo_of(process, descriptor), "flags"), /*base=*/8);
    const bool is_this_end = object.starts_with("pipe:") &&
                             (flags.value_or(0) & O_ACCMODE) == (writes ? O_WRONLY : O_RDONLY);
    return std::ranges::find(ends, end) != ends.end() && !is_this_end;
  };
  std::vector<int> holders;
  std::ranges::copy_if(processes, std::back_inserter(holders), [&](int process) {
    return std::ranges::any_of(descriptors_of(process), [&](const auto& each) {
      return can_cause(process, each.first, each.second);
    });
  });
  return holders;
}

bool is_held_outside(const std::set<std::string>& ends, const std::vector<int>& processes) {
  for (const int process : numbers_in("/proc")) {
    if (ends.empty() || std::ranges::find(processes, process) != processes.end()) {
      continue;
    }
    for (const auto& [descriptor, object] : descriptors_of(process)) {
      if (ends.contains(end_at(process, descriptor, object))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace lastref::harness::warden
