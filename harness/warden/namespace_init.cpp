#include "harness/warden/namespace_init.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>

#include <lastref/error.hpp>

#include "harness/platform/child_process.hpp"
#include "harness/platform/namespaces.hpp"

namespace lastref::harness::warden {
namespace {

/// The data that the processes exchange while they start a namespace, in shared memory.
struct Birth {
  std::atomic<bool> is_ready = false;  ///< The init process has done its part, or failed.
  std::atomic<int> error = 0;
  std::atomic<int> init = -1;
  std::atomic<int> child = -1;
};

/// Forks a child of our parent, so that the supervisor gets its exit status. clone(2), CLONE_PARENT
int fork_sibling() noexcept {
  return static_cast<int>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
}

/// The message with the process number of the dead process, which the kernel translates for the
/// receiver. unix(7)
union Envelope {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(ucred))> bytes;
};

msghdr message_of(iovec& content, Envelope& envelope) noexcept {
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = &envelope;
  message.msg_controllen = sizeof envelope;
  return message;
}

void tell(int socket, const siginfo_t& ended) noexcept {
  constexpr int dumped = 0x80;  // wait(2), WCOREDUMP
  int status = ended.si_code == CLD_EXITED   ? ended.si_status << 8
               : ended.si_code == CLD_DUMPED ? ended.si_status | dumped
                                             : ended.si_status;
  iovec content{.iov_base = &status, .iov_len = sizeof status};
  Envelope envelope{};
  const msghdr message = message_of(content, envelope);
  envelope.header = {
      .cmsg_len = CMSG_LEN(sizeof(ucred)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS};
  const ucred who{.pid = ended.si_pid, .uid = ::getuid(), .gid = ::getgid()};
  std::memcpy(CMSG_DATA(&envelope.header), &who, sizeof who);
  ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

/// Runs in the first process of the namespace. It blocks all signals; those that cannot be blocked
/// have an effect only if they come from outside.
[[noreturn]] void keep(int socket, Birth& birth) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t all{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  if (!mount_proc()) {
    birth.error = errno;
  }
  birth.is_ready = true;
  sigset_t child{};
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  for (;;) {
    ::sigwaitinfo(&child, nullptr);
    siginfo_t ended{};
    while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
           ended.si_pid != 0) {
      tell(socket, ended);  // While the process still has its number
      ::waitid(P_PID, static_cast<id_t>(ended.si_pid), &ended, WEXITED | __WALL);
      ended = {};
    }
  }
}

/// Runs in an intermediate process. It is not in the namespace that it makes, but its children are.
/// The first child is the init process. True: this is the second child.
bool bear(int socket, Birth& birth) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // /proc is mounted for these children alone.
  const int init = ::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 ? fork_sibling() : -1;
  if (init < 0) {
    birth.error = errno;
    return false;
  }
  if (init == 0) {
    keep(socket, birth);
  }
  birth.init = init;
  while (!birth.is_ready && !is_dead(init, std::chrono::milliseconds(0))) {
    ::sched_yield();
  }
  if (birth.error != 0 || !birth.is_ready) {
    return false;
  }
  const int child = fork_sibling();
  if (child == 0) {
    return true;
  }
  birth.error = child < 0 ? errno : 0;
  birth.child = child;
  return false;
}

}  // namespace

NamespaceInit::~NamespaceInit() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    reap(process_);
  }
}

int NamespaceInit::fork() noexcept {
  auto [ours, its] = make_socket_pair(SOCK_SEQPACKET);
  if (!ours) {
    return -1;
  }
  void* const shared =
      ::mmap(nullptr, sizeof(Birth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  LASTREF_ASSERT(shared != MAP_FAILED);
  Birth* const birth = new (shared) Birth;
  constexpr int yes = 1;
  ::setsockopt(ours.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
  const int between = ::fork();
  if (between == 0) {
    if (bear(its.get(), *birth)) {
      return 0;
    }
    ::_exit(0);
  }
  if (between < 0) {
    birth->error = errno;
  }
  if (between > 0) {
    reap(between);
  }
  socket_ = std::move(ours);
  process_ = birth->init;
  const int child = birth->child;
  const int error = birth->error;
  ::munmap(shared, sizeof(Birth));
  errno = error == 0 ? ECHILD : error;
  return child;
}

std::optional<NamespaceInit::End> NamespaceInit::receive() const noexcept {
  End end;
  iovec content{.iov_base = &end.status, .iov_len = sizeof end.status};
  Envelope envelope{};
  msghdr message = message_of(content, envelope);
  if (!socket_ || ::recvmsg(socket_.get(), &message, MSG_DONTWAIT) != sizeof end.status) {
    return std::nullopt;
  }
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) {
    return std::nullopt;
  }
  ucred who{};
  std::memcpy(&who, CMSG_DATA(header), sizeof who);
  end.process = who.pid;
  return end;
}

}  // namespace lastref::harness::warden
