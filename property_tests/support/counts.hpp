// Counts: what a tracker would count for the processes of one test, and who misuses it.
//
// A file whose count falls to 0 is unlinked, a folder is deleted when in addition nothing in it is
// counted any more (or at once, where references are not attributed): before the call returns.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lastref/references.hpp>

namespace lastref::pretend {

class Counts {
 public:
  explicit Counts(bool attributed = true) : attributed_(attributed) {}

  /// What one process says.
  std::shared_ptr<References> party(const std::string& holder);

  /// How often a name is held, by one or by all.
  std::size_t of(const std::string& path) const;
  std::size_t of(const std::string& path, const std::string& holder) const;
  /// All that is counted, sorted; of one type.
  std::vector<std::string> names(ResourceType type) const;
  bool empty() const;
  /// How often a operation was said of a name.
  std::size_t said(const std::string& operation, const std::string& path) const;
  std::size_t said(const std::string& operation) const;

  /// Where a path really is.
  std::function<std::string(const std::string&)> real;
  /// Told of each operation before it counts.
  std::function<void(const std::string& operation, const std::string& path)> before;
  /// Which call from now fails, from 0.
  std::optional<std::size_t> fails = {};
  std::vector<std::string> misuse;
  /// Which thing has a path, as somebody said last.
  std::map<std::string, Identity> identities;

 private:
  class Party;
  struct Operation {
    std::string operation;
    Resource resource;
  };

  Status say(const std::string& holder, const std::string& operation, const Resource& resource);
  std::size_t count(const Resource& resource) const;
  void clean(const Resource& resource);
  void clean_folders();

  bool attributed_;
  mutable std::mutex guard_;
  std::map<Resource, std::map<std::string, std::size_t>> counts_;
  std::set<std::string> doomed_folders_;
  std::vector<Operation> operations_;
};

}  // namespace lastref::pretend
