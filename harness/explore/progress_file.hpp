// ProgressFile: the faults and pairs of faults that were executed and found nothing, and the
// crossings that the single faults led to, for the next gate.
//
// Text, one fact per line, appended during the campaign; a line without its end was cut by a kill
// and is not read. The file belongs to one kind of gate of one build of the program: another one
// starts a new file. Faults with findings are not in it, so a resumed gate finds them again.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/fault.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// A crossing that represents a moment of the second level: see there.
struct Aftermath {
  std::string scenario;
  Fault first;
  Crossing crossing;

  bool operator==(const Aftermath&) const = default;
};

/// "family/a_sentence<tab>root/open(a)#1 fail_once EIO<tab>root/close(a)#1<tab>1a2b came waited".
std::string to_text(const Aftermath& aftermath);
/// The fields that matter to plans; nothing for any other text.
std::optional<Aftermath> parse_aftermath(std::string_view text);

class ProgressFile {
 public:
  /// Without a file: `open` writes the runs that were added before.
  ProgressFile() = default;

  /// Reads the existing content, and appends to it. `build` distinguishes builds and their gates.
  /// False, with the reason, when the file cannot be written or is a different file.
  bool open(const std::string& path, std::uint64_t build, std::string& why);

  /// One fault, or a pair.
  bool has(std::string_view scenario, std::span<const Fault> faults) const;
  const std::vector<Aftermath>& aftermaths() const noexcept { return aftermaths_; }
  /// Rows of the tables of calls and steps that were reached.
  const std::set<std::string>& reached() const noexcept { return reached_; }
  /// Probes that were seen.
  const std::set<std::string>& seen() const noexcept { return seen_; }
  /// Whether the file was of another build or gate, and was started again.
  bool outdated() const noexcept { return outdated_; }

  void add(std::string_view scenario, std::span<const Fault> faults);
  /// Call it before adding the fault that led there: a file with the fault then has the aftermath
  /// too.
  void add_aftermath(const Aftermath& aftermath);
  void add_reached(std::string_view name);
  void add_seen(std::string_view name);
  /// Everything added so far survives a kill.
  void flush() { out_.flush(); }
  bool is_open() const noexcept { return out_.is_open(); }

 private:
  void read(std::string_view text);

  void append(std::string_view key, std::string_view rest);

  std::ofstream out_;
  std::string kept_;  ///< Lines that are in no file yet
  std::set<std::string, std::less<>> faults_;
  std::vector<Aftermath> aftermaths_;
  std::set<std::string> reached_;
  std::set<std::string> seen_;
  bool outdated_ = false;
};

}  // namespace lastref::harness
