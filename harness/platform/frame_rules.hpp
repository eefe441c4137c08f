// FrameRules: how the frame of the caller is found from that of a function, as an ELF file has it
// in .eh_frame. No debug information is needed, and no library of the process that is read.
//
// Only for x86-64; elsewhere nothing is known. A damaged file has no rules.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace lastref::harness {

/// Those of a thread that are known, by their numbers in DWARF. System V ABI for x86-64, 3.36
using Registers = std::array<std::optional<std::uint64_t>, 17>;
inline constexpr std::size_t frame_pointer = 6;
inline constexpr std::size_t stack_pointer = 7;
inline constexpr std::size_t return_address = 16;

/// The 8 bytes at this address of the thread; absent: not readable.
using ReadWord = std::function<std::optional<std::uint64_t>(std::uint64_t address)>;

struct FrameRule {
  /// Where the function begins, in memory; absent: the file has no table of them.
  std::optional<std::uint64_t> function = {};
  bool is_outermost = false;  ///< It has no caller.
  bool is_signal = false;     ///< The kernel has made the frame, and its caller made no call.
  /// Those of the caller; absent: a register that is not known is needed, or memory is not
  /// readable.
  std::optional<Registers> caller = {};
};

class FrameRules {
 public:
  /// Of this open file, which must not be closed before
  explicit FrameRules(int descriptor);
  ~FrameRules();
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  /// Of the function that has this instruction; absent: the file has none for it.
  ///
  /// @param address  as the file has it
  /// @param moved    by how much it is higher in memory
  std::optional<FrameRule> rule_at(std::uint64_t address,
                                   std::uint64_t moved,
                                   const Registers& registers,
                                   const ReadWord& read) const;
  /// The address of the code that is mapped from this place in the file on, before relocation
  std::optional<std::uint64_t> address_of(std::uint64_t offset) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace lastref::harness
