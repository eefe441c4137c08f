// ProgressFile: which faults of the matrix were executed and found nothing, for the next gate.
//
// Text, one fact a line, appended as it goes; a line without its end was cut by a kill and is not
// read. It belongs to one build of the program: another build begins again. Faults that found
// something are not in it, so a resumed gate finds them again.
#pragma once

#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {

class ProgressFile {
 public:
  /// In no file yet: what is added is kept until `open`, which writes it down.
  ProgressFile() = default;

  /// Reads what is there, and goes on behind it. `build` tells builds apart. False, with the
  /// reason, when the file cannot be written or is something else.
  bool open(const std::string& path, std::uint64_t build, std::string& why);

  bool has(std::string_view scenario, const Fault& fault) const;
  /// Rows of the tables of calls and steps that were reached.
  const std::set<std::string>& reached() const noexcept { return reached_; }
  /// Probes that were seen.
  const std::set<std::string>& seen() const noexcept { return seen_; }
  /// Whether the file was of another build, and is begun again.
  bool outdated() const noexcept { return outdated_; }

  void add(std::string_view scenario, const Fault& fault);
  void add_reached(std::string_view name);
  void add_seen(std::string_view name);
  /// What was added survives a kill from now on.
  void flush() { out_.flush(); }
  bool is_open() const noexcept { return out_.is_open(); }

 private:
  void read(std::string_view text);

  void append(std::string_view key, std::string_view rest);

  std::ofstream out_;
  std::string kept_;  ///< Lines that are in no file yet
  std::set<std::string, std::less<>> faults_;
  std::set<std::string> reached_;
  std::set<std::string> seen_;
  bool outdated_ = false;
};

}  // namespace lastref::harness
