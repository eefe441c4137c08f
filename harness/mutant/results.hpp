// Results: the results of hunters for builds, kept in a file, so that no trial is repeated.
//
// JSON, one result per line, appended during the run; a line that was cut by a kill is not read.
// The key of a result is made of the sources, the patch and the command: when one of them changes,
// it is not looked up any more.
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

/// The key of a result: the hash of a checkout's sources, the text of a patch, which is empty where
/// nothing is planted, and the command run in the build.
std::string key_of(std::uint64_t sources, std::string_view patch, std::string_view command);

struct KeptResult {
  std::string key;
  std::string mutant;  ///< For readers of the file; so is the hunter.
  std::string hunter;
  Trial trial;
};

/// Without the end of the line.
std::string line_of(const KeptResult& result);
/// None if it is not such a line.
std::optional<KeptResult> result_of(std::string_view line);

class Results {
 public:
  /// Reads the existing results, and appends to them. Fails with io_error if it cannot be written.
  Status open(const std::string& path);
  /// Null if there is none; otherwise valid until the next `add`.
  const Trial* find(const std::string& key) const;
  /// The result survives a kill afterwards. Fails with io_error.
  Status add(KeptResult result);

 private:
  std::string path_;
  std::ofstream out_;
  std::map<std::string, Trial, std::less<>> trials_;
};

}  // namespace lastref::harness
