#include "harness/warden/call_stacks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::size_t frames_max = 256;
constexpr std::size_t searched_bytes = std::size_t{64} << 10U;
constexpr std::size_t candidates_max = 256;
/// Descriptors are limited; a tree may run many programs.
constexpr std::size_t images_max = 128;
constexpr std::size_t spaces_max = 64;

std::optional<std::uint64_t> stack_pointer_of(int thread) {
  // "257 0xffffff9c ... 0x7ffd51f1e0a8 0x7f2a0c4f81b0"; proc(5)
  const std::string text = first_line_of(fmt::format("/proc/{}/syscall", thread));
  const std::size_t last = text.rfind(' ');
  const std::size_t before = last == std::string::npos ? last : text.rfind(" 0x", last - 1);
  return before == std::string::npos
             ? std::nullopt
             : number_in<std::uint64_t>(std::string_view(text).substr(before + 3), 16);
}

/// The bytes before a return address, up to the longest call
using Before = std::array<std::uint8_t, 7>;

/// Whether they end with "call rel32"; then `target` is where it leads.
bool is_direct_call(const Before& bytes, std::uint64_t after, std::uint64_t& target) {
  constexpr std::size_t size = 5;
  std::int32_t distance = 0;
  if (bytes[bytes.size() - size] != 0xe8) {
    return false;
  }
  std::memcpy(&distance, &bytes[bytes.size() - size + 1], sizeof distance);
  target = after + static_cast<std::uint64_t>(std::int64_t{distance});
  return true;
}

/// Whether they end with a call of what a register or memory has: ff /2
bool is_indirect_call(const Before& bytes) {
  for (const std::size_t size : {2U, 3U, 4U, 6U, 7U}) {
    const std::uint8_t* const at = &bytes[bytes.size() - size];
    const unsigned mode = at[1] >> 6U;
    const unsigned base = at[1] & 7U;
    if (at[0] != 0xff || (at[1] >> 3U & 7U) != 2) {
      continue;
    }
    const bool has_index = mode != 3 && base == 4;
    const bool is_absolute =
        mode == 0 && (base == 5 || (has_index && size > 2 && (at[2] & 7U) == 5));
    const std::size_t offset = mode == 1 ? 1 : mode == 2 || is_absolute ? 4 : 0;
    if (2 + (has_index ? 1 : 0) + offset == size) {
      return true;
    }
  }
  return false;
}

}  // namespace

ProgramImage* CallStacks::image_of(int process, const Mapping& mapping) {
  auto& image = images_[{std::string(mapping.path), mapping.inode}];
  if (image == nullptr) {
    image = std::make_unique<ProgramImage>(process, mapping);
  }
  return image.get();
}

const CallStacks::Space& CallStacks::space_of(int process) {
  std::string maps = read_file(fmt::format("/proc/{}/maps", process));
  if (const auto before = spaces_.find(process);
      before != spaces_.end() && before->second.maps == maps) {
    return before->second;
  }
  if (spaces_.size() >= spaces_max || images_.size() >= images_max) {
    spaces_.clear();
    images_.clear();
  }
  Space& space = spaces_[process] = {.maps = std::move(maps)};
  for (const Mapping& each : mappings_in(space.maps)) {
    if (!each.rights.starts_with("r-x") || !each.path.starts_with('/')) {
      continue;
    }
    ProgramImage* const image = image_of(process, each);
    const auto address = image->rules().address_of(each.offset);
    space.code.push_back({.begin = each.begin,
                          .end = each.end,
                          .moved = each.begin - address.value_or(each.offset),
                          .image = image});
  }
  return space;
}

namespace {

/// The frames of one thread, from one of its calls outwards.
template <typename CodeAt>
class Walk {
 public:
  Walk(ThreadMemory& memory, const CodeAt& code_at) : memory_(memory), code_at_(code_at) {}

  std::vector<CodePlace> from(std::uint64_t instruction, std::uint64_t stack) {
    registers_[return_address] = instruction;
    registers_[stack_pointer] = stack;
    std::vector<CodePlace> all;
    while (all.size() < frames_max) {
      const auto place = code_at_(*registers_[return_address]);
      if (!place) {
        break;
      }
      all.push_back(*place);
      if (!step(*place)) {
        break;
      }
    }
    return all;
  }

 private:
  /// Goes on to the caller. False: it is the outermost function, or nothing is known.
  bool step(const CodePlace& at) {
    const auto rule = rule_at(at, registers_);
    if (rule && rule->is_outermost) {
      return false;
    }
    const bool follows_call = !(rule && rule->is_signal);
    auto caller = rule && rule->caller ? rule->caller : search(at, rule);
    caller = caller || !rule ? caller : in_register();
    // Stacks grow downwards, but a signal may have another one.
    if (!caller || (follows_call && (*caller)[stack_pointer] < registers_[stack_pointer])) {
      return false;
    }
    registers_ = *caller;
    follows_call_ = follows_call;
    return true;
  }

  std::optional<FrameRule> rule_at(const CodePlace& at, const Registers& registers) const {
    // A call may be the last instruction of a function.
    return at.image->rules().rule_at(
        at.address - (follows_call_ ? 1 : 0), at.moved, registers, [this](std::uint64_t address) {
          return memory_.word(address);
        });
  }

  /// Finds the return address of this function on the stack.
  std::optional<Registers> search(const CodePlace& at, const std::optional<FrameRule>& rule) const {
    const bool may_be_certain = rule && rule->function;
    const std::uint64_t begin = *registers_[stack_pointer];
    std::optional<Registers> likely;
    std::size_t candidates = 0;
    for (std::uint64_t place = begin; place - begin < searched_bytes; place += sizeof place) {
      const auto word = memory_.word(place);
      if (!word || candidates == candidates_max || (likely && !may_be_certain)) {
        break;
      }
      if (!code_at_(*word)) {
        continue;
      }
      ++candidates;
      const Call call = call_before(*word);
      const bool is_its_own = may_be_certain && call.target == rule->function;
      if (!call.is_there || (likely && !is_its_own)) {
        continue;
      }
      auto caller = rule ? caller_by_rule(at, place) : caller_without_rule(place);
      if (caller && is_its_own) {
        return caller;
      }
      likely = caller ? caller : likely;
    }
    return likely;
  }

  Registers caller_without_rule(std::uint64_t place) const {
    Registers caller;
    caller[return_address] = memory_.word(place);
    caller[stack_pointer] = place + sizeof place;
    return caller;
  }

  /// The registers if the return address is at this place; absent: it cannot be there.
  std::optional<Registers> caller_by_rule(const CodePlace& at, std::uint64_t place) const {
    // Most functions that need the frame pointer have saved the caller's next to that address.
    Registers guessed = registers_;
    guessed[frame_pointer] = place - sizeof place;
    const auto rule = rule_at(at, guessed);
    const Registers expected = caller_without_rule(place);
    const bool fits = rule && rule->caller &&
                      (*rule->caller)[return_address] == expected[return_address] &&
                      (*rule->caller)[stack_pointer] == expected[stack_pointer];
    return fits ? rule->caller : std::nullopt;
  }

  /// vfork(2) of glibc keeps the return address in a register, and has just taken it from the
  /// stack.
  std::optional<Registers> in_register() const {
    const auto word = memory_.word(*registers_[stack_pointer] - sizeof(std::uint64_t));
    if (follows_call_ || !word || !code_at_(*word) || !call_before(*word).is_there) {
      return std::nullopt;
    }
    Registers caller = registers_;
    caller[return_address] = word;
    return caller;
  }

  struct Call {
    bool is_there = false;
    std::optional<std::uint64_t> target = {};  ///< If the instruction has it
  };

  Call call_before(std::uint64_t after) const {
    Before bytes{};
    std::uint64_t target = 0;
    if (!memory_.read(after - bytes.size(), bytes.data(), bytes.size())) {
      return {};
    }
    if (is_direct_call(bytes, after, target)) {
      return {.is_there = true, .target = target};
    }
    return {.is_there = is_indirect_call(bytes)};
  }

  ThreadMemory& memory_;
  const CodeAt& code_at_;
  Registers registers_;
  bool follows_call_ = false;  ///< Otherwise the instruction is the next one of its function.
};

}  // namespace

std::vector<CodePlace> CallStacks::of(const Notification& call, int process, ThreadMemory& memory) {
#if defined(__x86_64__)
  constexpr bool knows_machine = true;
#else
  constexpr bool knows_machine = false;
#endif
  const auto stack = knows_machine ? stack_pointer_of(call.thread) : std::nullopt;
  if (!stack) {
    return {};
  }
  const Space& space = space_of(process);
  const auto code_at = [&](std::uint64_t address) -> std::optional<CodePlace> {
    const auto after = std::ranges::upper_bound(space.code, address, {}, &Code::begin);
    if (after == space.code.begin() || address >= std::prev(after)->end) {
      return std::nullopt;
    }
    const Code& code = *std::prev(after);
    return CodePlace{.image = code.image, .address = address - code.moved, .moved = code.moved};
  };
  return Walk(memory, code_at).from(call.instruction, *stack);
}

}  // namespace lastref::harness::warden
