// text_at: a name is read to its end and no further, wherever it is.
#include "harness/warden/proc_inspect.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <climits>
#include <gtest/gtest.h>

namespace lastref::harness::warden {
namespace {

/// Two pages, followed by one without access.
class ProcInspect : public testing::Test {
 public:
  ProcInspect()
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        memory_(::mmap(
            nullptr, 3 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ProcInspect(const ProcInspect&) = delete;
  ProcInspect& operator=(const ProcInspect&) = delete;
  ~ProcInspect() override { ::munmap(memory_, 3 * page_); }

  void SetUp() override {
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_EQ(::mprotect(end(), page_, PROT_NONE), 0);
  }

 protected:
  char* start() const { return static_cast<char*>(memory_); }
  char* end() const { return start() + 2 * page_; }

  static std::optional<std::string> read_at(const char* address) {
    return text_at(::getpid(), reinterpret_cast<std::uintptr_t>(address));
  }

 private:
  std::size_t page_;
  void* memory_;
};

TEST_F(ProcInspect, reads_a_text_of_every_size_up_to_memory_that_is_not_there) {
  for (std::size_t size = 0; size < PATH_MAX; ++size) {
    const std::string text(size, 'a');
    char* const here = end() - size - 1;
    std::memcpy(here, text.c_str(), size + 1);
    ASSERT_EQ(read_at(here), text) << size;
  }
}

TEST_F(ProcInspect, reads_no_further_than_the_end_of_a_text_between_others) {
  std::fill(start(), end(), 'b');
  for (std::size_t size = 0; size < PATH_MAX; ++size) {
    std::string text(size, 'a');
    std::memcpy(start() + 1, text.c_str(), size + 1);
    ASSERT_EQ(read_at(start() + 1), text) << size;
  }
}

TEST_F(ProcInspect, reads_nothing_of_a_text_that_has_no_end_or_cannot_be_read) {
  std::fill(start(), end(), 'a');
  EXPECT_EQ(read_at(end() - 1), std::nullopt);
  EXPECT_EQ(read_at(end()), std::nullopt);
  EXPECT_EQ(read_at(nullptr), std::nullopt);
  EXPECT_EQ(read_at(start()), std::nullopt) << "longer than any path";
}

}  // namespace
}  // namespace lastref::harness::warden
