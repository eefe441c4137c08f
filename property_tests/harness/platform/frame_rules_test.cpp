// frame_rules_test: rules of frames in files that are whole, cut, and damaged.
#include "harness/platform/frame_rules.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "harness/choice/choices.hpp"
#include "harness/platform/elf_functions.hpp"
#include "harness/platform/proc.hpp"
#include "harness/platform/unique_fd.hpp"

// libelf loses the buffer of a section if it cannot read the bytes.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__libelf_set_rawdata_wrlock\n";
}

namespace lastref::harness {
namespace {

UniqueFd file_of(const std::string& bytes) {
  UniqueFd file(::memfd_create("elf", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

/// Asks for all that is read from a file. Returns the number of rules found.
std::size_t read_all(const std::string& bytes) {
  const UniqueFd file = file_of(bytes);
  const FrameRules rules(file.get());
  Registers registers;
  registers[stack_pointer] = 4096;
  std::size_t found = 0;
  for (std::uint64_t address = 0; address < bytes.size(); address += 61) {
    const auto rule = rules.rule_at(address, 0, registers, [](std::uint64_t at) { return at; });
    found += rule ? 1U : 0U;
    rules.address_of(address);
  }
  for_each_function(file.get(), [](const ElfFunction& /*function*/) {});
  address_of_object(file.get(), "_PyRuntime");
  return found;
}

#if defined(__x86_64__)
TEST(FrameRules, are_found_in_a_program) {
  EXPECT_GT(read_all(read_file("/bin/true")), 100U);
}
#endif

TEST(FrameRules, are_absent_where_there_is_no_program) {
  EXPECT_EQ(read_all(""), 0U);
  EXPECT_EQ(read_all(std::string(100000, '\x7f')), 0U);
  const FrameRules none(-1);
  EXPECT_FALSE(none.rule_at(4096, 0, {}, [](std::uint64_t at) { return at; }));
}

TEST(FrameRules, of_files_that_are_cut_or_damaged_do_no_harm) {
  const std::string whole = read_file("/bin/true");
  std::uint64_t seed = 1;
  for (int file = 0; file < 300; ++file) {
    std::string bytes = whole;
    if (next_random(seed) % 4 == 0) {
      bytes.resize(next_random(seed) % bytes.size());
    }
    // Half of the damage is in the headers.
    for (std::uint64_t left = next_random(seed) % 20; left > 0 && !bytes.empty(); --left) {
      const std::size_t range =
          next_random(seed) % 2 == 0 ? std::min<std::size_t>(bytes.size(), 1000) : bytes.size();
      bytes[next_random(seed) % range] = static_cast<char>(next_random(seed));
    }
    read_all(bytes);
  }
}

}  // namespace
}  // namespace lastref::harness
