#include "harness/warden/python_frames.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness::warden {
namespace {

// Offsets in the structures of CPython 3.11, in bytes; Include/internal/pycore_runtime.h,
// pycore_interp.h, pycore_frame.h, Include/cpython/pystate.h, code.h and unicodeobject.h
constexpr std::uint64_t first_interpreter = 40;  // _PyRuntimeState.interpreters.head
constexpr std::uint64_t next_interpreter = 0;
constexpr std::uint64_t first_thread = 16;  // PyInterpreterState.threads.head
constexpr std::uint64_t next_thread = 8;
constexpr std::uint64_t thread_number = 160;  // PyThreadState.native_thread_id
constexpr std::uint64_t current_frames = 56;  // PyThreadState.cframe
constexpr std::uint64_t innermost_frame = 8;  // _PyCFrame.current_frame
constexpr std::uint64_t code_of_frame = 32;   // _PyInterpreterFrame.f_code
constexpr std::uint64_t previous_frame = 48;
constexpr std::uint64_t instruction_of_frame = 56;  // prev_instr
constexpr std::uint64_t first_line = 72;            // PyCodeObject.co_firstlineno
constexpr std::uint64_t file_of_code = 112;
constexpr std::uint64_t name_of_code = 120;
constexpr std::uint64_t lines_of_code = 136;      // co_linetable
constexpr std::uint64_t first_instruction = 184;  // co_code_adaptive
constexpr std::uint64_t size_of_object = 16;      // PyVarObject.ob_size, PyASCIIObject.length
constexpr std::uint64_t bytes_of_object = 32;     // PyBytesObject.ob_sval
constexpr std::uint64_t state_of_text = 32;       // PyASCIIObject.state
constexpr std::uint64_t ascii_text = 48;
constexpr std::uint64_t other_text = 72;

constexpr std::uint64_t wanted_version = 0x030b;
// A process may overwrite its own structures: lists may be circular, and sizes wrong.
constexpr std::size_t threads_max = 1024;
constexpr std::size_t frames_max = 256;
constexpr std::uint64_t text_max = 4096;
constexpr std::uint64_t table_max = std::uint64_t{1} << 20U;

/// 0: not readable
std::uint64_t word_at(ThreadMemory& memory, std::uint64_t address) {
  return memory.word(address).value_or(0);
}

/// A str
std::string python_text(ThreadMemory& memory, std::uint64_t address) {
  const std::uint64_t length = std::min(word_at(memory, address + size_of_object), text_max);
  const std::uint64_t state = word_at(memory, address + state_of_text);
  // interned: 2 bits, kind: 3, compact: 1, ascii: 1
  const std::uint64_t width = state >> 2U & 7U;
  const bool is_ascii = (state >> 6U & 1U) != 0;
  if (width != 1 && width != 2 && width != 4) {
    return "";
  }
  const std::string bytes =
      memory.bytes(address + (is_ascii ? ascii_text : other_text), length * width);
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    const std::string_view one = std::string_view(bytes).substr(at, width);
    const bool is_plain =
        one[0] >= ' ' && one[0] <= '~' && one.find_first_not_of('\0', 1) == std::string_view::npos;
    text += is_plain ? one[0] : '?';
  }
  return text;
}

/// The number of the thread in its own pid namespace, which is that of its interpreter
std::uint64_t own_number_of(int thread) {
  const std::string status = read_file(fmt::format("/proc/{}/status", thread));
  const std::string_view numbers = field_in(status, "NSpid");
  const std::size_t last = numbers.find_last_of(" \t");
  return number_in<std::uint64_t>(last == std::string_view::npos ? numbers
                                                                 : numbers.substr(last + 1))
      .value_or(0);
}

/// The state of this thread; 0: it has none.
std::uint64_t state_of(ThreadMemory& memory, const PythonRuntime& runtime) {
  const std::uint64_t number = own_number_of(memory.thread());
  std::uint64_t only = 0;
  std::size_t count = 0;
  for (std::uint64_t interpreter = word_at(memory, runtime.state + first_interpreter);
       interpreter != 0 && count < threads_max;
       interpreter = word_at(memory, interpreter + next_interpreter)) {
    ++count;
    for (std::uint64_t each = word_at(memory, interpreter + first_thread);
         each != 0 && count < threads_max;
         each = word_at(memory, each + next_thread)) {
      if (word_at(memory, each + thread_number) == number) {
        return each;
      }
      only = only == 0 && count == 1 ? each : 0;
      ++count;
    }
  }
  // A child of vfork(2) uses the memory and the state of its parent.
  return only;
}

PythonFrame frame_at(ThreadMemory& memory, std::uint64_t frame) {
  const std::uint64_t code = word_at(memory, frame + code_of_frame);
  const std::uint64_t table = word_at(memory, code + lines_of_code);
  const std::uint64_t size = std::min(word_at(memory, table + size_of_object), table_max);
  const std::uint64_t instruction = word_at(memory, frame + instruction_of_frame);
  const std::uint64_t first = code + first_instruction;
  return {.file = python_text(memory, word_at(memory, code + file_of_code)),
          .line = line_in_python_table(memory.bytes(table + bytes_of_object, size),
                                       static_cast<int>(word_at(memory, code + first_line)),
                                       instruction < first ? 0 : (instruction - first) / 2),
          .function = python_text(memory, word_at(memory, code + name_of_code))};
}

}  // namespace

int line_in_python_table(const std::string& table, int first, std::uint64_t instruction) {
  constexpr std::uint8_t begins = 0x80;  // The first byte of an entry, and no other
  enum : unsigned { one_line = 10, two_lines_more = 12, no_column = 13, long_form = 14 };
  std::int64_t line = first;
  std::uint64_t passed = 0;
  for (std::size_t at = 0; at < table.size();) {
    const auto byte = static_cast<std::uint8_t>(table[at]);
    const unsigned kind = byte >> 3U & 15U;
    if (byte < begins) {
      return first;
    }
    if (kind == no_column || kind == long_form) {
      // Six bits each, the lowest first; the lowest one of all is the sign.
      std::uint64_t value = 0;
      unsigned shift = 0;
      for (std::size_t next = at + 1; next < table.size() && shift < 36; ++next, shift += 6) {
        const auto part = static_cast<std::uint8_t>(table[next]);
        value |= std::uint64_t{part & 63U} << shift;
        if ((part & 64U) == 0) {
          break;
        }
      }
      const auto size = static_cast<std::int64_t>(value >> 1U);
      line += (value & 1U) != 0 ? -size : size;
    } else if (kind >= one_line && kind <= two_lines_more) {
      line += kind - one_line;
    }
    passed += (byte & 7U) + 1;
    if (instruction < passed) {
      return static_cast<int>(line);
    }
    ++at;
    while (at < table.size() && static_cast<std::uint8_t>(table[at]) < begins) {
      ++at;
    }
  }
  return first;
}

std::vector<PythonFrame> python_frames(ThreadMemory& memory, const PythonRuntime& runtime) {
  if (word_at(memory, runtime.version) >> 16U != wanted_version) {
    return {};
  }
  const std::uint64_t state = state_of(memory, runtime);
  const std::uint64_t frames = state == 0 ? 0 : word_at(memory, state + current_frames);
  std::vector<PythonFrame> all;
  std::set<std::uint64_t> seen;
  for (std::uint64_t frame = frames == 0 ? 0 : word_at(memory, frames + innermost_frame);
       frame != 0 && seen.insert(frame).second && seen.size() < frames_max;
       frame = word_at(memory, frame + previous_frame)) {
    if (PythonFrame each = frame_at(memory, frame); !each.file.empty() && !each.function.empty()) {
      all.push_back(std::move(each));
    }
  }
  return all;
}

}  // namespace lastref::harness::warden
