#include "harness/instrument/callers.hpp"

#include <cxxabi.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/platform/elf_functions.hpp"

// The C++ library's own copies keep no frame pointers, and a walk from an allocation in them would
// end there. The program links these instances instead.
template class std::basic_string<char>;

namespace lastref::harness {
namespace {

/// The namespaces in mangled names.
constexpr std::string_view product_mark = "7lastref";
constexpr std::string_view harness_mark = "7lastref7harness";
/// Characters before the mark: the name is nested, local, const or a thunk. A function with our
/// names only among its parameters is a library's, and the compiler decides whether it has a frame.
constexpr std::string_view before_mark = "_ZNKLTchnv0123456789";
/// Functions below the instruments, and at the bottom of a real thread's stack.
constexpr std::string_view kernel_mark = "Kernel";

/// Longer call stacks are equal if this many frames are.
constexpr std::size_t frames_max = 64;

/// `seam` is the part of the harness that is an Os: calls made from there serve the harness.
enum class Room : std::uint8_t { other, product, harness, seam };

struct Function {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  Room room = Room::other;
  std::string symbol = {};  ///< Only of the product's
};

/// `symbol` is the part after the harness's mark: it begins with the length and the name of a
/// class, or of the namespace of the simulated kernel. Threads and exit hooks are the product's.
bool is_seam(std::string_view symbol) noexcept {
  if (symbol.starts_with("3sim")) {
    return true;
  }
  std::size_t length = 0;
  while (!symbol.empty() && symbol.front() >= '0' && symbol.front() <= '9') {
    length = length * 10 + static_cast<std::size_t>(symbol.front() - '0');
    symbol.remove_prefix(1);
  }
  return (symbol.substr(0, length).ends_with("Os") || symbol.starts_with("OsAround")) &&
         symbol.find("12start_thread") == std::string_view::npos &&
         symbol.find("14run_exit_hooks") == std::string_view::npos;
}

Room room_of(std::string_view symbol) noexcept {
  const std::size_t mark = symbol.find(product_mark);
  if (mark == std::string_view::npos ||
      symbol.substr(0, mark).find_first_not_of(before_mark) != std::string_view::npos) {
    return Room::other;
  }
  if (symbol.substr(mark).starts_with(harness_mark)) {
    return is_seam(symbol.substr(mark + harness_mark.size())) ? Room::seam : Room::harness;
  }
  return symbol.find(kernel_mark) == std::string_view::npos ? Room::product : Room::other;
}

std::vector<Function> functions_of_program() {
  std::vector<Function> functions;
  for_each_function("/proc/self/exe", [&](const ElfFunction& function) {
    const bool is_sized = !function.is_dynamic && function.size > 0;
    if (const Room room = is_sized ? room_of(function.name) : Room::other; room != Room::other) {
      functions.push_back({.begin = function.address,
                           .end = function.address + function.size,
                           .room = room,
                           .symbol = std::string(room == Room::product ? function.name : "")});
    }
  });
  std::ranges::sort(functions, {}, &Function::begin);
  return functions;
}

/// The difference between the addresses of the program in memory and in its file.
std::uintptr_t load_bias() {
  std::uintptr_t bias = 0;
  const auto take_first = [](dl_phdr_info* program, std::size_t /*size*/, void* into) {
    *static_cast<std::uintptr_t*>(into) = program->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(take_first, &bias);
  return bias;
}

struct Symbols {
  std::vector<Function> functions = functions_of_program();
  std::uintptr_t bias = load_bias();

  const Function* function_at(std::uintptr_t address) const noexcept {
    const auto after = std::ranges::upper_bound(functions, address, {}, &Function::begin);
    const bool is_known = after != functions.begin() && address < std::prev(after)->end;
    return is_known ? &*std::prev(after) : nullptr;
  }
};

const Symbols& symbols() {
  static const Symbols read;
  return read;
}

/// A call stack, built from the innermost frame upwards.
class Chain {
 public:
  explicit Chain(bool ends_at_harness) noexcept : ends_at_harness_(ends_at_harness) {}

  bool is_empty() const noexcept { return size_ == 0; }
  /// Whether the code of the harness that was reached is an Os.
  bool is_of_seam() const noexcept { return is_of_seam_; }
  const Function* innermost() const noexcept { return innermost_; }

  /// False when the harness's own code has been reached.
  bool add(std::uintptr_t address) noexcept {
    const Function* function = symbols().function_at(address);
    const Room room = function == nullptr ? Room::other : function->room;
    if (room == Room::harness || room == Room::seam) {
      is_of_seam_ = room == Room::seam;
      return size_ == 0 && !ends_at_harness_;
    }
    // A recursive call is the same site at every depth.
    if (room == Room::product && size_ < frames_.size() &&
        std::ranges::find(frames(), address) == frames().end()) {
      innermost_ = size_ == 0 ? function : innermost_;
      frames_[size_++] = address;
    }
    return true;
  }

  std::uint32_t hash() const noexcept {
    std::uint64_t hash = size_;
    for (const std::uintptr_t frame : frames()) {
      hash = (hash ^ frame) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32U;
    }
    return static_cast<std::uint32_t>(hash);
  }

 private:
  std::span<const std::uintptr_t> frames() const noexcept { return {frames_.data(), size_}; }

  bool ends_at_harness_;  ///< Even if it is empty.
  bool is_of_seam_ = false;
  const Function* innermost_ = nullptr;
  std::array<std::uintptr_t, frames_max> frames_{};
  std::size_t size_ = 0;
};

/// The layout of a frame in functions built with frame pointers, as all of the program are.
struct Frame {
  const Frame* caller;
  std::uintptr_t return_address;
};

/// The maximum distance of two frames; a pointer beyond it is not a frame.
constexpr std::uintptr_t frame_size_max = std::uintptr_t{1} << 20U;

/// Stacks grow downward.
const Frame* caller_of(const Frame* frame) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(frame);
  const auto there = reinterpret_cast<std::uintptr_t>(frame->caller);
  const bool is_frame =
      there > here && there - here < frame_size_max && there % alignof(Frame) == 0;
  return is_frame ? frame->caller : nullptr;
}

void walk(const Frame* frame, Chain& chain) noexcept {
  // The return address follows the call, and may belong to the next function.
  while (frame != nullptr && chain.add(frame->return_address - 1 - symbols().bias)) {
    frame = caller_of(frame);
  }
}

}  // namespace

bool knows_callers() {
  static const bool known = !symbols().functions.empty();
  return known;
}

std::uint32_t callers_here() noexcept {
  Chain chain(/*ends_at_harness=*/false);
  walk(static_cast<const Frame*>(__builtin_frame_address(0)), chain);
  return chain.hash();
}

std::uint32_t callers_of_allocation(const void* frame) noexcept {
  Chain chain(/*ends_at_harness=*/true);
  walk(static_cast<const Frame*>(frame), chain);
  return chain.is_empty() || chain.is_of_seam() ? 0 : chain.hash();
}

std::string function_of_allocation(const void* frame) {
  Chain chain(/*ends_at_harness=*/true);
  walk(static_cast<const Frame*>(frame), chain);
  if (chain.is_empty()) {
    return {};
  }
  const std::string& symbol = chain.innermost()->symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return plain == nullptr ? symbol : plain.get();
}

}  // namespace lastref::harness
