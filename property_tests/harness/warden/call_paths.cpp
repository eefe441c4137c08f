// call_paths: makes calls in several ways, for tests of call sites. It is compiled with and without
// optimization, and without descriptions of its frames.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

std::string folder;

[[gnu::noinline]] int open_here(const char* name) {
  const int file = ::open((folder + name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  return file < 0 ? 1000 : ::close(file);
}

[[gnu::noinline]] int from_first() {
  return open_here("first") + 1;
}

[[gnu::noinline]] int from_second() {
  return open_here("second") + 2;
}

/// Its own frame is larger than what others leave on the stack.
[[gnu::noinline]] int from_deep(int depth) {
  volatile char large[300];
  large[depth] = static_cast<char>(depth);
  return (depth == 0 ? open_here("deep") : from_deep(depth - 1)) + large[depth];
}

[[gnu::noinline]] int writes(int file) {
  int written = 0;
  for (int time = 0; time < 100; ++time) {
    written += static_cast<int>(::write(file, "x", 1));
  }
  return written;
}

void on_signal(int /*signal*/) {
  open_here("in_handler");
}

[[gnu::noinline]] int start_child() {
  const int child = ::vfork();
  if (child == 0) {
    ::_exit(0);
  }
  return ::waitpid(child, nullptr, 0) == child ? 0 : 1;
}

#if defined(__x86_64__)
/// mkdir("/", 0), which fails, with this stack pointer
[[gnu::noinline]] void call_with_stack_at(std::uintptr_t stack) {
  static const char name[] = "/";
  asm volatile("mov %%rsp, %%rbx\n mov %0, %%rsp\n syscall\n mov %%rbx, %%rsp\n"
               :
               : "r"(stack), "a"(SYS_mkdir), "D"(name), "S"(0)
               : "rbx", "rcx", "r11", "memory");
}

/// The same call by code that no file has
[[gnu::noinline]] void call_from_memory() {
  static const char name[] = "/";
  const unsigned char code[] = {0x0f, 0x05, 0xc3};  // syscall; ret
  void* const place =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(place, code, sizeof code);
  asm volatile("call *%0\n"
               :
               : "r"(place), "a"(SYS_mkdir), "D"(name), "S"(0)
               : "rcx", "r11", "memory");
}
#endif

/// Dies while its other threads make calls.
void die_amid_calls() {
  for (int number = 0; number < 4; ++number) {
    std::thread([] {
      while (true) {
        ::mkdir("/", 0);
      }
    }).detach();
  }
  for (int time = 0; time < 100; ++time) {
    ::mkdir("/", 0);
  }
  ::kill(::getpid(), SIGKILL);
}

}  // namespace

int main(int count, char** words) {
  folder = std::string(words[1]) + "/";
  if (count > 2) {
    die_amid_calls();
  }
  int sum = from_first() + from_second() + from_deep(3);
  const int file = ::open((folder + "written").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  sum += writes(file);
  std::signal(SIGUSR1, on_signal);
  std::raise(SIGUSR1);
  sum += start_child();
#if defined(__x86_64__)
  for (const std::uintptr_t wild :
       {UINTPTR_MAX - 15,
        std::uintptr_t{16},
        std::uintptr_t{1} << 63U,
        reinterpret_cast<std::uintptr_t>(&sum) & ~std::uintptr_t{4095}}) {
    call_with_stack_at(wild);
  }
  call_from_memory();
#endif
  return sum == 0 ? 1 : 0;
}
