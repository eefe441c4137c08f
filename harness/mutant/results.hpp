// Results: what hunters said of builds, kept in a file, so that what was tried is not tried again.
//
// JSON, one result a line, appended as it goes; a line that was cut by a kill is not read. What a
// result is known by is made of the sources, the patch and the command: when one of them changes,
// nobody asks for it any more.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

#include "harness/mutant/trial.hpp"

namespace lastref::harness {

/// As reports for programs spell it.
std::string_view name_of(Sight sight) noexcept;

/// What tells one result from all others: the hash of a checkout's sources, the text of a patch,
/// which is empty where nothing is planted, and what was done with the build.
std::string key_of(std::uint64_t sources, std::string_view patch, std::string_view command);

struct KeptResult {
  std::string key;
  std::string mutant;  ///< For people who read the file; so is the hunter.
  std::string hunter;
  Trial trial;
};

/// Without the end of the line.
std::string line_of(const KeptResult& result);
/// None if it is not such a line.
std::optional<KeptResult> result_of(std::string_view line);

class Results {
 public:
  /// Reads what is there, and goes on behind it. Fails with io_error if it cannot be written.
  Status open(const std::string& path);
  /// None if there is none; else it lasts until the next `add`.
  const Trial* find(const std::string& key) const;
  /// It survives a kill from now on. Fails with io_error.
  Status add(KeptResult result);

 private:
  std::string path_;
  std::ofstream out_;
  std::map<std::string, Trial, std::less<>> trials_;
};

}  // namespace lastref::harness
