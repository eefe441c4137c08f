// Target: the destination of a machine-readable report.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace lastref::harness {

/// A file, or standard output if its name is "-"; nowhere if it has none.
class Target {
 public:
  explicit Target(std::string path);

  /// Opens it now rather than after the run. False if it cannot be written.
  bool open();
  bool write(const std::string& text);
  bool takes_standard_output() const;
  bool wanted() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  struct Closes {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Closes>;

  File file_;
};

}  // namespace lastref::harness
