// ProgramImage: a file that a watched process has mapped with code, and what it says about its
// functions and their frames.
//
// A process may remove or change its files at any time. A file that is not the mapped one is not
// read. A damaged file has no functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/platform/frame_rules.hpp"
#include "harness/platform/proc.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness::warden {

class ProgramImage {
 public:
  /// The file of this mapping of a process
  ProgramImage(int process, const Mapping& mapping);

  const std::string& path() const noexcept { return path_; }
  const FrameRules& rules() const noexcept { return rules_; }
  /// "main+0x12 (git)" or, without a symbol, "git+0x1234"
  ///
  /// @param address  one after a call, as the file has it
  std::string place_of(std::uint64_t address);
  /// The address of this object, as the file has it; absent: it has no such symbol.
  std::optional<std::uint64_t> object(const std::string& symbol);

 private:
  struct Function {
    std::uint64_t begin = 0;  ///< Addresses as the file has them
    std::uint64_t size = 0;
    std::string symbol;
  };
  void read_functions();

  std::string path_;
  UniqueFd file_;
  FrameRules rules_;
  std::vector<Function> functions_;  ///< By address
  bool has_read_functions_ = false;
  std::map<std::string, std::optional<std::uint64_t>> objects_;  ///< Those that were asked for
};

}  // namespace lastref::harness::warden
