#include "impl/os/kernel_os_token.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <new>

#include <lastref/kernel_os.hpp>

namespace lastref::os {
namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free);

/// If there is no such page (no memory, or Linux before 4.14), this word replaces it permanently,
/// and pids are used instead.
Word no_page = 0;
std::atomic<Word*> word_of_page = nullptr;

Word* make_page() noexcept {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return &no_page;
  }
  if (::madvise(at, size, MADV_WIPEONFORK) < 0) {
    ::munmap(at, size);
    return &no_page;
  }
  Word* const made = new (at) Word(0);
  Word* seen = nullptr;
  if (word_of_page.compare_exchange_strong(seen, made)) {
    return made;
  }
  ::munmap(at, size);  // Another thread was faster.
  return seen;
}

/// Never 0.
std::uint64_t by_chance() noexcept {
  std::uint64_t chance = 0;
  // So few bytes are returned completely, and no signal interrupts the call. getrandom(2)
  static_cast<void>(::getrandom(&chance, sizeof chance, 0));
  return chance | 1U;
}

}  // namespace

std::uint64_t token_of_process() noexcept {
  Word* word = word_of_page.load();
  if (word == nullptr) {
    word = make_page();
    Word* none = nullptr;
    word_of_page.compare_exchange_strong(none, word);
    word = word_of_page.load();
  }
  if (word == &no_page) {
    return static_cast<std::uint64_t>(::getpid());
  }
  std::uint64_t token = word->load();
  if (token == 0) {
    const std::uint64_t made = by_chance();
    if (word->compare_exchange_strong(token, made)) {
      token = made;
    }
  }
  return token;
}

std::uint64_t KernelOs::process_token() noexcept {
  return token_of_process();
}

}  // namespace lastref::os
