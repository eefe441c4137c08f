// FreshFolder: a folder of one test, which must be empty again at its end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lastref::pretend {

class FreshFolder {
 public:
  FreshFolder();
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;
  /// Removes any leftover. A leftover is a failed test, unless the test fails anyway.
  ~FreshFolder();

  const std::string& path() const noexcept { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  bool exists(const std::string& name) const;
  void write(const std::string& name, const std::string& text = "x") const;
  std::string read(const std::string& name) const;
  void remove(const std::string& name) const;
  void make_folder(const std::string& name) const;
  void link(const std::string& name, const std::string& target) const;
  /// All paths in the folder, sorted and relative to it.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

/// Makes a folder the working folder, for a scope.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& path);
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder();

 private:
  std::filesystem::path before_;
};

/// Makes a removed folder the working folder, for a scope.
class Nowhere {
 public:
  Nowhere();

 private:
  FreshFolder folder_;
  std::optional<WorkingFolder> inside_;
};

/// "lastref_" and random hexadecimal digits: unique.
std::string unique_text();

}  // namespace lastref::pretend
