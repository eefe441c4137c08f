// FreshFolder: a folder of one test, which has to be empty again at its end.
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
  /// What is left is a failed test, unless the test fails anyhow; and it is removed.
  ~FreshFolder();

  const std::string& path() const noexcept { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  bool exists(const std::string& name) const;
  void write(const std::string& name, const std::string& text = "x") const;
  std::string read(const std::string& name) const;
  void remove(const std::string& name) const;
  void make_folder(const std::string& name) const;
  void link(const std::string& name, const std::string& target) const;
  /// Everything below, sorted; paths from here.
  std::vector<std::string> names() const;

 private:
  std::string path_;
};

/// This is the working folder, for a scope.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& path);
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder();

 private:
  std::filesystem::path before_;
};

/// The working folder is one that was removed, for a scope.
class Nowhere {
 public:
  Nowhere();

 private:
  FreshFolder folder_;
  std::optional<WorkingFolder> inside_;
};

/// "lastref_" and random hexadecimal digits: nobody else's.
std::string unique_text();

}  // namespace lastref::pretend
