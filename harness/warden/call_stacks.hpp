// CallStacks: the functions that have led to a call which waits for the warden, read from the
// memory of its thread.
//
// Only the stack pointer and the address of the call are known: nothing traces the thread. Rules of
// each file give the frame of the caller. Where they need another register, or there are none, the
// next return address on the stack is taken: one that follows a call of the function, if any does.
// So a function that is not described, such as one that was made at run time, may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/frame_rules.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/program_image.hpp"
#include "harness/warden/thread_memory.hpp"

namespace lastref::harness::warden {

/// An instruction in a file that is mapped
struct CodePlace {
  ProgramImage* image = nullptr;
  std::uint64_t address = 0;  ///< As the file has it
  std::uint64_t moved = 0;    ///< By how much it is higher in memory
};

class CallStacks {
 public:
  /// The calls that have not returned, the last one first; empty: they cannot be read. It is valid
  /// until the next one is read.
  std::vector<CodePlace> of(const Notification& call, int process, ThreadMemory& memory);

 private:
  struct Code {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t moved = 0;
    ProgramImage* image = nullptr;
  };
  struct Space {
    std::string maps;
    std::vector<Code> code = {};  ///< By address
  };

  const Space& space_of(int process);
  ProgramImage* image_of(int process, const Mapping& mapping);

  std::map<int, Space> spaces_;  ///< By process
  std::map<std::pair<std::string, std::uint64_t>, std::unique_ptr<ProgramImage>> images_;
};

}  // namespace lastref::harness::warden
