// counted_exit: replaces _exit(2) where coverage is counted. Many processes of the harness end by
// it, and would lose their counts. The counts of a killed process are lost, and those of a process
// that may not write to the tree: what libgcov prints about that is not output of the process.
//
// The linker uses it: a call of _exit becomes one of __wrap__exit, and __real__exit is the original
// one. ld(1), --wrap.
#include <cstdio>

namespace lastref {

void write_counts() __asm__("__gcov_dump");
[[noreturn]] void exit_at_once(int code) __asm__("__real__exit");
[[noreturn]] void write_counts_and_exit(int code) __asm__("__wrap__exit");

void write_counts_and_exit(int code) {
  if (std::freopen("/dev/null", "w", stderr) != nullptr) {
    write_counts();
  }
  exit_at_once(code);
}

}  // namespace lastref
