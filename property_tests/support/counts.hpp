// Counts: what a tracker would count for the processes of one test, and which processes misuse it.
//
// A file whose count falls to 0 is unlinked. A folder is deleted when, in addition, nothing in it
// is counted any more (or immediately, where references are not attributed). Both happen before the
// call returns.
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

  /// The references of one process.
  std::shared_ptr<References> party(const std::string& holder);

  /// The reference count of a name: over all holders, or of one.
  std::size_t of(const std::string& path) const;
  std::size_t of(const std::string& path, const std::string& holder) const;
  /// All counted names of one type, sorted.
  std::vector<std::string> names(ResourceType type) const;
  bool empty() const;
  /// How often an operation was called for a name.
  std::size_t said(const std::string& operation, const std::string& path) const;
  std::size_t said(const std::string& operation) const;

  /// Maps a path to the real one.
  std::function<std::string(const std::string&)> real;
  /// Called with each operation before it is counted.
  std::function<void(const std::string& operation, const std::string& path)> before;
  /// Which call from now fails, from 0.
  std::optional<std::size_t> fails = {};
  std::vector<std::string> misuse;
  /// The identity of the file at a path, as last reported.
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
