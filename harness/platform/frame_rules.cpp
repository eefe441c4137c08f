#include "harness/platform/frame_rules.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

namespace lastref::harness {
namespace {

using Word = std::optional<std::uint64_t>;
using Operations = std::span<const Dwarf_Op>;

/// Those that a function has to restore before it returns
constexpr std::size_t kept_by_callee[] = {3, frame_pointer, 12, 13, 14, 15};

/// The value of a DWARF expression; only operations that frames are described with.
class Expression {
 public:
  Expression(const Registers& registers, Word frame, const ReadWord& read)
      : registers_(registers), frame_(frame), read_(read) {}

  /// Rules of registers give an address, unless they end with DW_OP_stack_value.
  Word value_of(Operations operations, bool is_place) {
    for (const Dwarf_Op& each : operations) {
      if (each.atom == DW_OP_stack_value) {
        is_place = false;
      } else if (!apply(each)) {
        return std::nullopt;
      }
    }
    const Word top = pop();
    return is_place && top ? read_(*top) : top;
  }

 private:
  bool push(Word value) {
    constexpr std::size_t deepest = 16;
    if (!value || stack_.size() == deepest) {
      return false;
    }
    stack_.push_back(*value);
    return true;
  }

  Word pop() {
    if (stack_.empty()) {
      return std::nullopt;
    }
    const std::uint64_t top = stack_.back();
    stack_.pop_back();
    return top;
  }

  Word of_register(std::uint64_t number, std::uint64_t offset) const {
    const Word value = number < registers_.size() ? registers_[number] : std::nullopt;
    return value ? Word(*value + offset) : std::nullopt;
  }

  bool apply(const Dwarf_Op& each) {
    if (each.atom >= DW_OP_breg0 && each.atom <= DW_OP_breg31) {
      return push(of_register(each.atom - DW_OP_breg0, each.number));
    }
    switch (each.atom) {
      case DW_OP_bregx:
        return push(of_register(each.number, each.number2));
      case DW_OP_call_frame_cfa:
        return push(frame_);
      case DW_OP_plus_uconst: {
        const Word top = pop();
        return top && push(*top + each.number);
      }
      case DW_OP_deref: {
        const Word top = pop();
        return top && push(read_(*top));
      }
      default:
        return false;
    }
  }

  const Registers& registers_;
  Word frame_;
  const ReadWord& read_;
  std::vector<std::uint64_t> stack_;
};

struct FreesFrame {
  void operator()(Dwarf_Frame* frame) const noexcept { std::free(frame); }
};
using Frame = std::unique_ptr<Dwarf_Frame, FreesFrame>;

struct Rule {
  Dwarf_Op memory[3];
  Operations operations;
  bool is_same = false;  ///< As in the function, if there are no operations
};

bool read_rule(const Frame& frame, std::size_t number, Rule& rule) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(
          frame.get(), static_cast<int>(number), rule.memory, &operations, &count) != 0) {
    return false;
  }
  rule.operations = {operations, count};
  rule.is_same = operations == nullptr;
  return true;
}

std::optional<Registers> caller_by(const Frame& frame,
                                   const Registers& registers,
                                   const ReadWord& read) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame.get(), &operations, &count) != 0) {
    return std::nullopt;
  }
  const Word end =
      Expression(registers, {}, read).value_of({operations, count}, /*is_place=*/false);
  if (!end) {
    return std::nullopt;
  }
  Registers caller;
  caller[stack_pointer] = end;
  const auto restore = [&](std::size_t number) {
    Rule rule;
    if (!read_rule(frame, number, rule)) {
      return;
    }
    // libdw takes rbx for undefined where no rule is given.
    caller[number] =
        rule.operations.empty()
            ? registers[number]
            : Expression(registers, end, read).value_of(rule.operations, /*is_place=*/true);
  };
  for (const std::size_t number : kept_by_callee) {
    restore(number);
  }
  restore(return_address);
  return caller[return_address] ? std::optional(caller) : std::nullopt;
}

}  // namespace

namespace {

/// Where functions begin, from .eh_frame_hdr, sorted. Linux Standard Base, Core, 10.6.2
std::vector<std::uint64_t> beginnings_in(Elf* elf, const GElf_Phdr& header) {
  // The version, the encodings of the three parts, and two parts; then pairs of a function and its
  // rules. All linkers encode them alike: 4 bytes, relative to the header if they have a sign.
  constexpr std::array<std::uint8_t, 4> usual = {1, 0x1b, 0x03, 0x3b};
  constexpr std::size_t before_table = 12;
  constexpr std::size_t pair = 8;
  const Elf_Data* const read = elf_getdata_rawchunk(
      elf, static_cast<std::int64_t>(header.p_offset), header.p_filesz, ELF_T_BYTE);
  if (read == nullptr || read->d_buf == nullptr || read->d_size < before_table ||
      std::memcmp(read->d_buf, usual.data(), usual.size()) != 0) {
    return {};
  }
  const auto* const bytes = static_cast<const std::uint8_t*>(read->d_buf);
  std::uint32_t count = 0;
  std::memcpy(&count, bytes + pair, sizeof count);
  std::vector<std::uint64_t> all;
  for (std::size_t at = before_table; all.size() < count && at + pair <= read->d_size; at += pair) {
    std::int32_t distance = 0;
    std::memcpy(&distance, bytes + at, sizeof distance);
    all.push_back(header.p_vaddr + static_cast<std::uint64_t>(std::int64_t{distance}));
  }
  return all;
}

}  // namespace

struct FrameRules::Tables {
  Elf* file = nullptr;
  Dwarf_CFI* rules = nullptr;
  std::vector<GElf_Phdr> code = {};  ///< Its segments
  std::vector<std::uint64_t> beginnings = {};
};

FrameRules::FrameRules(int descriptor) : tables_(std::make_unique<Tables>()) {
  // A file that is mapped may be cut while it is read.
  tables_->file =
      elf_version(EV_CURRENT) == EV_NONE ? nullptr : elf_begin(descriptor, ELF_C_READ, nullptr);
  GElf_Ehdr header;
  std::size_t count = 0;
  if (tables_->file == nullptr || gelf_getehdr(tables_->file, &header) == nullptr ||
      header.e_machine != EM_X86_64 || elf_getphdrnum(tables_->file, &count) != 0) {
    return;
  }
  for (std::size_t at = 0; at < count; ++at) {
    GElf_Phdr segment;
    if (gelf_getphdr(tables_->file, static_cast<int>(at), &segment) == nullptr) {
      continue;
    }
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      tables_->code.push_back(segment);
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      tables_->beginnings = beginnings_in(tables_->file, segment);
    }
  }
  tables_->rules = dwarf_getcfi_elf(tables_->file);
}

FrameRules::~FrameRules() {
  dwarf_cfi_end(tables_->rules);
  elf_end(tables_->file);
}

std::optional<FrameRule> FrameRules::rule_at(std::uint64_t address,
                                             std::uint64_t moved,
                                             const Registers& registers,
                                             const ReadWord& read) const {
  Dwarf_Frame* found = nullptr;
  if (tables_->rules == nullptr || dwarf_cfi_addrframe(tables_->rules, address, &found) != 0) {
    return std::nullopt;
  }
  const Frame frame(found);
  FrameRule rule;
  Rule returns;
  if (dwarf_frame_info(found, nullptr, nullptr, &rule.is_signal) < 0 ||
      !read_rule(frame, return_address, returns)) {
    return std::nullopt;
  }
  const auto after = std::ranges::upper_bound(tables_->beginnings, address);
  if (after != tables_->beginnings.begin()) {
    rule.function = *std::prev(after) + moved;
  }
  rule.is_outermost = returns.operations.empty();
  if (!rule.is_outermost) {
    rule.caller = caller_by(frame, registers, read);
  }
  return rule;
}

std::optional<std::uint64_t> FrameRules::address_of(std::uint64_t offset) const {
  // A mapping begins with a page, which may have the end of another segment.
  constexpr std::uint64_t page = 4096;
  for (const GElf_Phdr& each : tables_->code) {
    if (offset >= each.p_offset / page * page && offset < each.p_offset + each.p_filesz) {
      return offset - each.p_offset + each.p_vaddr;
    }
  }
  return std::nullopt;
}

}  // namespace lastref::harness
