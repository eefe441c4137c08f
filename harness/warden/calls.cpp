// warden_calls: makes one system call, on names in a folder, and reports the result in its exit
// code: 0, or errno. What the call needs is prepared before.
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <climits>

namespace {

constexpr int unknown = 125;

int errno_of(long result) {
  return result < 0 ? errno : 0;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

/// A child that ends at once and is waited for.
int errno_of_birth(long child) {
  if (child == 0) {
    ::_exit(0);
  }
  const int error = errno_of(child);
  if (child > 0) {
    ::waitpid(static_cast<int>(child), nullptr, 0);
  }
  return error;
}

/// Calls on sockets and pipes.
int call_of_streams(const std::string& name, const std::string& folder) {
  const auto raw = [](auto... arguments) { return errno_of(::syscall(arguments...)); };
  std::array<int, 2> pair{};
  std::array<int, 2> more{};
  ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair.data());
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un made = address_of(folder + "/made");
  const sockaddr_un abstract = address_of("");
  const bool hears = name == "accept" || name == "accept4" || name == "connect" || name == "listen";
  sockaddr_un own{};
  socklen_t own_size = sizeof own;
  if (hears) {
    // An abstract name, chosen by the kernel.
    ::bind(server, reinterpret_cast<const sockaddr*>(&abstract), sizeof abstract.sun_family);
    ::listen(server, 1);
    ::getsockname(server, reinterpret_cast<sockaddr*>(&own), &own_size);
  }
  const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (name == "accept" || name == "accept4") {
    ::connect(client, reinterpret_cast<const sockaddr*>(&own), own_size);
  }
  char byte = 'x';
  iovec vector{.iov_base = &byte, .iov_len = 1};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (name == "recvfrom" || name == "recvmsg") {
    ::send(pair[1], &byte, 1, 0);
  }
  if (name == "accept")
    return raw(SYS_accept, server, nullptr, nullptr);
  if (name == "accept4")
    return raw(SYS_accept4, server, nullptr, nullptr, SOCK_CLOEXEC);
  if (name == "bind")
    return raw(SYS_bind, client, &made, sizeof made);
  if (name == "connect")
    return raw(SYS_connect, client, &own, own_size);
  if (name == "listen")
    return raw(SYS_listen, server, 1);
  if (name == "pipe2")
    return raw(SYS_pipe2, more.data(), O_CLOEXEC);
  if (name == "recvfrom")
    return raw(SYS_recvfrom, pair[0], &byte, 1, 0, nullptr, nullptr);
  if (name == "recvmsg")
    return raw(SYS_recvmsg, pair[0], &message, 0);
  if (name == "sendmsg")
    return raw(SYS_sendmsg, pair[0], &message, 0);
  if (name == "sendto")
    return raw(SYS_sendto, pair[0], &byte, 1, 0, nullptr, 0);
  if (name == "socket")
    return raw(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
  if (name == "socketpair")
    return raw(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, more.data());
  return unknown;
}

/// System V objects. They are removed again, because they would outlive us.
int call_of_sysv(const std::string& name) {
  long id = -1;
  if (name == "shmget" && (id = ::syscall(SYS_shmget, IPC_PRIVATE, 1, 0600)) >= 0)
    return errno_of(::shmctl(static_cast<int>(id), IPC_RMID, nullptr));
  if (name == "semget" && (id = ::syscall(SYS_semget, IPC_PRIVATE, 1, 0600)) >= 0)
    return errno_of(::semctl(static_cast<int>(id), 0, IPC_RMID));
  if (name == "msgget" && (id = ::syscall(SYS_msgget, IPC_PRIVATE, 0600)) >= 0)
    return errno_of(::msgctl(static_cast<int>(id), IPC_RMID, nullptr));
  return errno_of(id);
}

/// Takes a lock while other threads make and remove names.
int flock_among_threads(const std::string& folder) {
  std::vector<std::thread> others;
  for (const char name : {'a', 'b', 'c'}) {
    others.emplace_back([&folder, name] {
      for (int round = 0; round < 100; ++round) {
        const std::string path = folder + '/' + name;
        ::syscall(SYS_mkdir, path.c_str(), 0700);
        ::syscall(SYS_rmdir, path.c_str());
      }
    });
  }
  const int file = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  for (int round = 0; round < 10; ++round) {
    ::syscall(SYS_flock, file, LOCK_EX);
    ::syscall(SYS_flock, file, LOCK_UN);
  }
  for (std::thread& each : others) {
    each.join();
  }
  ::close(file);
  return 0;
}

/// Makes and removes a name while a timer fires. If a call was interrupted, the process is killed
/// by a signal some calls later.
int unlink_while_a_clock_rings(const std::string& folder) {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // Without SA_RESTART
  ::sigaction(SIGALRM, &action, nullptr);
  constexpr timeval often{.tv_sec = 0, .tv_usec = 100};
  const itimerval time{.it_interval = often, .it_value = often};
  constexpr itimerval never{};
  ::setitimer(ITIMER_REAL, &time, nullptr);
  const std::string path = folder + "/made";
  for (int round = 0; round < 1000; ++round) {
    if (::syscall(SYS_mkdir, path.c_str(), 0700) != 0 || ::syscall(SYS_rmdir, path.c_str()) != 0) {
      ::setitimer(ITIMER_REAL, &never, nullptr);
      for (int later = 0; later < 100; ++later) {
        ::syscall(SYS_rmdir, path.c_str());
      }
      ::raise(SIGUSR1);
    }
  }
  return 0;
}

/// Runs another program, from a thread that is not the first one.
int execve_in_a_thread(const std::string& folder) {
  std::thread([&] {
    const std::string made = folder + "/made";
    std::array<char*, 3> words = {const_cast<char*>("touch"), const_cast<char*>(made.c_str())};
    ::execv("/usr/bin/touch", words.data());
  }).join();
  return errno;
}

int socket_at(const std::string& folder, bool serves) {
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto* const name = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  const int done =
      serves ? ::bind(file, name, sizeof address) : ::connect(file, name, sizeof address);
  return done == 0 ? file : -1;
}

/// A server that runs until SIGTERM. It keeps the descriptors of clients that send 'k'.
int serve(const std::string& folder) {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // Without SA_RESTART
  ::sigaction(SIGTERM, &action, nullptr);
  const int file = socket_at(folder, true);
  if (file < 0 || ::listen(file, 1) != 0) {
    return errno;
  }
  for (int client = 0; (client = ::accept(file, nullptr, nullptr)) >= 0;) {
    char byte = 0;
    if (::read(client, &byte, 1) != 1 || ::write(client, &byte, 1) != 1) {
      return EIO;
    }
    if (byte != 'k') {
      ::close(client);
    }
  }
  return ::unlink((folder + "/socket").c_str());
}

int ask(const std::string& folder, char byte) {
  const int file = socket_at(folder, false);
  const bool answered = ::write(file, &byte, 1) == 1 && ::read(file, &byte, 1) == 1;
  return answered ? 0 : 1;
}

/// Calls that are denied to watched processes.
int call_of_watchers(const std::string& name) {
  std::array<char, 256> none{};
  if (name == "io_uring_setup")
    return errno_of(::syscall(SYS_io_uring_setup, 1, none.data()));
  if (name == "seccomp")
    return errno_of(::syscall(
        SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, none.data()));
#ifdef __x86_64__
  if (name == "a 32-bit call") {
    constexpr int its_getpid = 20;
    int result = its_getpid;
    asm volatile("int $0x80" : "+a"(result) : : "memory");
    return result < 0 ? -result : 0;
  }
#endif
  return unknown;
}

/// Calls that change owners, rights and attributes.
int call_of_owners(const std::string& name, const std::string& folder) {
  const auto raw = [](auto... arguments) { return errno_of(::syscall(arguments...)); };
  const std::string there = folder + "/there";
  const char* const path = there.c_str();
  const int file = ::open(path, O_RDWR);
  const int below = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const char* const attribute = "trusted.lastref";  // Each file system has those.
  if (name == "chown")
    return raw(SYS_chown, path, -1, ::getgid());
  if (name == "fchown")
    return raw(SYS_fchown, file, -1, ::getgid());
  if (name == "fchownat")
    return raw(SYS_fchownat, below, "there", -1, ::getgid(), 0);
  if (name == "lchown")
    return raw(SYS_lchown, path, -1, ::getgid());
  if (name == "setxattr")
    return raw(SYS_setxattr, path, attribute, "x", 1, 0);
  if (name == "lsetxattr")
    return raw(SYS_lsetxattr, path, attribute, "x", 1, 0);
  if (name == "fsetxattr")
    return raw(SYS_fsetxattr, file, attribute, "x", 1, 0);
  if (name == "setgid")
    return raw(SYS_setgid, ::getgid());
  if (name == "setgroups")
    return raw(SYS_setgroups, 0, nullptr);
  if (name == "setuid")
    return raw(SYS_setuid, ::getuid());
  if (name == "mount") {
    // Of a namespace of its own, so that nothing changes outside.
    const int error = errno_of(::unshare(CLONE_NEWNS));
    return error != 0 ? error : raw(SYS_mount, "none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  }
  return unknown;
}

/// Calls on clocks, descriptors and children.
int call_of_descriptors(const std::string& name, const std::string& folder) {
  const auto raw = [](auto... arguments) { return errno_of(::syscall(arguments...)); };
  const int file = ::open((folder + "/file").c_str(), O_RDWR);
  const timespec moment{.tv_sec = 0, .tv_nsec = 1};
  std::array<char, 4096> bytes{};
  if (name == "clock_nanosleep")
    return raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, nullptr);
  if (name == "nanosleep")
    return raw(SYS_nanosleep, &moment, nullptr);
  if (name == "dup2")
    return raw(SYS_dup2, file, 99);
  if (name == "dup3")
    return raw(SYS_dup3, file, 99, 0);
  if (name == "epoll_ctl") {
    epoll_event event{};
    return raw(SYS_epoll_ctl, ::epoll_create1(0), EPOLL_CTL_ADD, ::eventfd(0, 0), &event);
  }
  if (name == "inotify_add_watch")
    return raw(SYS_inotify_add_watch, ::inotify_init1(0), folder.c_str(), IN_CREATE);
  if (name == "ioctl")
    return raw(SYS_ioctl, file, FIOCLEX);
  if (name == "readlinkat")
    return raw(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", bytes.data(), bytes.size());
  if (name == "sync_file_range")
    return raw(SYS_sync_file_range, file, 0, 0, 0);
  if (name == "timerfd_create")
    return raw(SYS_timerfd_create, CLOCK_MONOTONIC, 0);
  if (name == "wait4") {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(0);
    return raw(SYS_wait4, child, nullptr, 0, nullptr);
  }
  return unknown;
}

int call(const std::string& name, const std::string& folder) {
  const std::string made = folder + "/made";
  const std::string there = folder + "/there";
  const char* const to = made.c_str();
  const char* const from = there.c_str();
  const int below = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const int file = ::open((folder + "/file").c_str(), O_RDWR);
  char byte = 'x';
  iovec vector{.iov_base = &byte, .iov_len = 1};
  char* const no_words[] = {nullptr};
  const auto raw = [](auto... arguments) { return errno_of(::syscall(arguments...)); };
  if (name == "exit_group") {
    ::syscall(SYS_exit_group, 0);
  }
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<char, 4096> bytes{};
  if (name.ends_with("get"))
    return call_of_sysv(name);
  if (name == "access")
    return raw(SYS_access, from, R_OK);
  if (name == "chdir")
    return raw(SYS_chdir, folder.c_str());
  if (name == "chroot")
    return raw(SYS_chroot, folder.c_str());
  if (name == "mq_open") {
    const int error = raw(SYS_mq_open, "lastref_none", O_RDONLY | O_CREAT, 0600, nullptr);
    ::syscall(SYS_mq_unlink, "lastref_none");
    return error;
  }
  if (name == "openat2") {
    open_how how{};
    how.flags = O_RDWR | O_CREAT;
    how.mode = 0600;
    return raw(SYS_openat2, below, "made", &how, sizeof how);
  }
  if (name == "setns")
    return raw(SYS_setns, ::open("/proc/self/ns/uts", O_RDONLY), CLONE_NEWUTS);
  if (name == "unshare")
    return raw(SYS_unshare, CLONE_FILES);
  if (name == "clone")
    return errno_of_birth(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (name == "clone3") {
    std::array<std::uint64_t, 8> wanted{};
    wanted[4] = SIGCHLD;
    return errno_of_birth(::syscall(SYS_clone3, wanted.data(), sizeof wanted));
  }
  if (name == "copy_file_range")
    return raw(SYS_copy_file_range, file, nullptr, file, nullptr, 0, 0);
  if (name == "dup")
    return raw(SYS_dup, file);
  if (name == "epoll_create1")
    return raw(SYS_epoll_create1, 0);
  if (name == "eventfd2")
    return raw(SYS_eventfd2, 0, 0);
  if (name == "faccessat")
    return raw(SYS_faccessat, below, "there", R_OK);
  if (name == "faccessat2")
    return raw(SYS_faccessat2, below, "there", R_OK, 0);
  if (name == "fcntl")
    return raw(SYS_fcntl, file, F_GETFD);
  if (name == "vfork") {
    const pid_t child = ::vfork();
    if (child == 0)
      ::_exit(0);
    return errno_of_birth(child);
  }
  if (name == "fork")
    return errno_of_birth(::syscall(SYS_fork));
  if (name == "fstat")
    return raw(SYS_fstat, file, bytes.data());
  if (name == "getdents64")
    return raw(SYS_getdents64, below, bytes.data(), bytes.size());
  if (name == "getrandom")
    return raw(SYS_getrandom, &byte, 1, 0);
  if (name == "inotify_init1")
    return raw(SYS_inotify_init1, 0);
  if (name == "kill")
    return raw(SYS_kill, ::getpid(), 0);
  if (name == "lseek")
    return raw(SYS_lseek, file, 0, SEEK_SET);
  if (name == "lstat")
    return raw(SYS_lstat, from, bytes.data());
  if (name == "memfd_create")
    return raw(SYS_memfd_create, "made", 0);
  if (name == "mmap")
    return raw(SYS_mmap, nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  if (name == "mprotect")
    return raw(SYS_mprotect, page, 4096, PROT_READ);
  if (name == "msync")
    return raw(SYS_msync, page, 4096, MS_ASYNC);
  if (name == "newfstatat")
    return raw(SYS_newfstatat, below, "there", bytes.data(), 0);
  if (name == "pread64")
    return raw(SYS_pread64, file, &byte, 1, 0);
  if (name == "preadv")
    return raw(SYS_preadv, file, &vector, 1, 0, 0);
  if (name == "pwritev")
    return raw(SYS_pwritev, file, &vector, 1, 0, 0);
  if (name == "readlink")
    return raw(SYS_readlink, "/proc/self/exe", bytes.data(), bytes.size());
  if (name == "sendfile")
    return raw(SYS_sendfile, file, file, nullptr, 0);
  if (name == "stat")
    return raw(SYS_stat, from, bytes.data());
  if (name == "statx")
    return raw(SYS_statx, below, "there", 0, 0, bytes.data());
  if (name == "utimensat")
    return raw(SYS_utimensat, below, "there", nullptr, 0);
  if (name == "chmod")
    return raw(SYS_chmod, from, 0600);
  if (name == "creat")
    return raw(SYS_creat, to, 0600);
  if (name == "execve")
    return raw(SYS_execve, "/bin/true", no_words, no_words);
  if (name == "execveat")
    return raw(SYS_execveat, AT_FDCWD, "/bin/true", no_words, no_words, 0);
  if (name == "fallocate")
    return raw(SYS_fallocate, file, 0, 0, 100);
  if (name == "fchmod")
    return raw(SYS_fchmod, file, 0600);
  if (name == "fchmodat")
    return raw(SYS_fchmodat, below, "there", 0600);
  if (name == "fdatasync")
    return raw(SYS_fdatasync, file);
  if (name == "flock")
    return raw(SYS_flock, file, LOCK_EX);
  if (name == "fsync")
    return raw(SYS_fsync, file);
  if (name == "ftruncate")
    return raw(SYS_ftruncate, file, 10);
  if (name == "link")
    return raw(SYS_link, from, to);
  if (name == "linkat")
    return raw(SYS_linkat, below, "there", below, "made", 0);
  if (name == "mkdir")
    return raw(SYS_mkdir, to, 0700);
  if (name == "mkdirat")
    return raw(SYS_mkdirat, below, "made", 0700);
  if (name == "mknod")
    return raw(SYS_mknod, to, S_IFIFO | 0600, 0);
  if (name == "mknodat")
    return raw(SYS_mknodat, below, "made", S_IFIFO | 0600, 0);
  if (name == "open")
    return raw(SYS_open, to, O_RDWR | O_CREAT, 0600);
  if (name == "openat")
    return raw(SYS_openat, below, "made", O_RDWR | O_CREAT, 0600);
  if (name == "pwrite64")
    return raw(SYS_pwrite64, file, &byte, 1, 0);
  if (name == "read")
    return raw(SYS_read, file, &byte, 1);
  if (name == "rename")
    return raw(SYS_rename, from, to);
  if (name == "renameat")
    return raw(SYS_renameat, below, "there", below, "made");
  if (name == "renameat2")
    return raw(SYS_renameat2, below, "there", below, "made", 0);
  if (name == "rmdir")
    return raw(SYS_rmdir, (folder + "/folder").c_str());
  if (name == "symlink")
    return raw(SYS_symlink, from, to);
  if (name == "symlinkat")
    return raw(SYS_symlinkat, from, below, "made");
  if (name == "truncate")
    return raw(SYS_truncate, from, 10);
  if (name == "unlink")
    return raw(SYS_unlink, from);
  if (name == "unlinkat")
    return raw(SYS_unlinkat, below, "there", 0);
  if (name == "write")
    return raw(SYS_write, file, &byte, 1);
  if (name == "writev")
    return raw(SYS_writev, file, &vector, 1);
  if (name == "unlink while a clock rings")
    return unlink_while_a_clock_rings(folder);
  if (name == "leave a queue")
    return ::mq_open(("/" + std::to_string(::getpid())).c_str(), O_CREAT | O_EXCL, 0600, nullptr) <
           0;
  if (name == "flock among threads")
    return flock_among_threads(folder);
  if (name == "clone with mounts")
    return errno_of_birth(::syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
  if (name == "serve")
    return serve(folder);
  if (name == "ask" || name == "ask and stay")
    return ask(folder, name == "ask" ? 'a' : 'k');
  if (name == "execve in a thread")
    return execve_in_a_thread(folder);
  for (const auto& calls : {call_of_streams, call_of_owners, call_of_descriptors}) {
    if (const int error = calls(name, folder); error != unknown)
      return error;
  }
  return call_of_watchers(name);
}

/// A child that waits permanently.
int resting_child() {
  std::array<int, 2> ends{};
  char byte = 0;
  const int child = ::pipe(ends.data()) < 0 ? -1 : ::fork();
  if (child == 0) {
    ::_exit(static_cast<int>(::read(ends[0], &byte, 1)));
  }
  return child;
}

/// A descriptor to wait for, or the number of a set of semaphores.
int awaited(const std::string& object) {
  std::array<int, 2> ends{-1, -1};
  if (object == "pipe" && ::pipe(ends.data()) == 0)
    return ends[0];
  if (object.starts_with("socket") && ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0) {
    const timeval limit{.tv_sec = object == "socket with limit" ? 1000 : 0, .tv_usec = 0};
    ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return ends[0];
  }
  if (object == "datagram" && ::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()) == 0)
    return ends[0];
  if (object == "eventfd")
    return ::eventfd(0, 0);
  if (object == "child" || object == "parent")
    return static_cast<int>(
        ::syscall(SYS_pidfd_open, object == "child" ? resting_child() : ::getppid(), 0));
  if (object == "SIGCHLD" || object == "SIGUSR1") {
    sigset_t set{};
    ::sigaddset(&set, object == "SIGCHLD" ? SIGCHLD : SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    resting_child();
    return ::signalfd(-1, &set, 0);
  }
  return object == "input" ? STDIN_FILENO : std::stoi(object);
}

/// Waits for a descriptor to be readable, or for a semaphore, without a time limit.
int rest_at(const std::string& call, int descriptor) {
  sembuf down{.sem_num = 0, .sem_op = -1, .sem_flg = 0};
  if (call == "semop")
    return errno_of(::syscall(SYS_semop, descriptor, &down, 1));
  pollfd item{.fd = descriptor, .events = POLLIN, .revents = 0};
  signalfd_siginfo large{};
  fd_set set{};
  FD_SET(descriptor, &set);
  if (call == "poll")
    return errno_of(::syscall(SYS_poll, &item, 1, -1));
  if (call == "ppoll")
    return errno_of(::syscall(SYS_ppoll, &item, 1, nullptr, nullptr, 0));
  if (call == "select")
    return errno_of(::syscall(SYS_select, descriptor + 1, &set, nullptr, nullptr, nullptr));
  if (call == "pselect6")
    return errno_of(
        ::syscall(SYS_pselect6, descriptor + 1, nullptr, nullptr, &set, nullptr, nullptr));
  if (call == "epoll_wait") {
    const int instance = ::epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(instance, EPOLL_CTL_ADD, descriptor, &event);
    return errno_of(::syscall(SYS_epoll_wait, instance, &event, 1, -1));
  }
  return errno_of(::syscall(SYS_read, descriptor, &large, sizeof large));
}

/// A lock of one open file, and of another one of the same file.
int rest_at_lock() {
  flock64 lock{};
  lock.l_type = F_WRLCK;
  const int file = ::memfd_create("lock", 0);
  const int other = ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR);
  ::fcntl(file, F_OFD_SETLK, &lock);
  return errno_of(::fcntl(other, F_OFD_SETLKW, &lock));
}

int rest_until_signal(int signal) {
  sigset_t set{};
  ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  resting_child();
  return errno_of(::syscall(SYS_rt_sigtimedwait, &set, nullptr, nullptr, NSIG / CHAR_BIT));
}

/// Waits indefinitely, or nearly: in select, poll, pause, on a futex that only its children share,
/// in a read of its standard input, or of a pipe that no other process has; or as "CALL OBJECT".
int rest(const std::string& how) {
  timeval long_time{.tv_sec = 1000, .tv_usec = 0};
  char byte = 0;
  if (how == "select")
    return errno_of(::syscall(SYS_select, 0, nullptr, nullptr, nullptr, &long_time));
  if (how == "poll")
    return errno_of(::syscall(SYS_poll, nullptr, 0, 1'000'000));
  if (how == "pause")
    return errno_of(::syscall(SYS_pause));
  if (how == "own pipe") {
    std::array<int, 2> ends{};
    return ::pipe(ends.data()) < 0 ? errno : errno_of(::syscall(SYS_read, ends[0], &byte, 1));
  }
  if (how == "futex") {
    void* const word = ::mmap(nullptr, sizeof(int), PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return errno_of(::syscall(SYS_futex, word, FUTEX_WAIT, 0, nullptr, nullptr, 0));
  }
  if (how == "read")
    return errno_of(::syscall(SYS_read, STDIN_FILENO, &byte, 1));
  if (how == "lock")
    return rest_at_lock();
  if (how == "sigwait SIGCHLD" || how == "sigwait SIGUSR1")
    return rest_until_signal(how == "sigwait SIGCHLD" ? SIGCHLD : SIGUSR1);
  const std::size_t space = how.find(' ');
  return space == std::string::npos ? unknown
                                    : rest_at(how.substr(0, space), awaited(how.substr(space + 1)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == "rest")
    return rest(arguments[2]);
  return count == 3 ? call(arguments[1], arguments[2]) : unknown;
}
