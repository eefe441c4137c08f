// Agreement: whether the names that a tree of the reference has made, according to its calls, are
// those that its tracker counts.
//
// A name is counted before it is made, and is no longer counted when it is removed. So a counted
// name that does not exist is about to be made by the call that waits. A name that exists and is
// not counted was counted before, or is the first part of a file in a counted folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <lastref/tracker_client.hpp>

#include "harness/warden/names_ledger.hpp"

namespace lastref::harness::warden {

/// The state while a call waits.
struct Look {
  std::string at = {};                ///< The call
  std::vector<Leftover> before = {};  ///< Names that existed when the tracker was asked
  std::vector<Leftover> after = {};   ///< and when it had answered
  std::vector<tracker::Count> counts = {};
  int root = 0;
  std::map<std::string, std::set<int>> opened_by = {};  ///< Opened, or about to be
  std::set<int> dead = {};                              ///< Died before it was asked
  bool is_opened = false;  ///< All workers are about to open the file for the first time.
  std::string made = {};   ///< The name that the call makes, if it does not exist yet
};

class Agreement {
 public:
  /// For an example with its folders in this one.
  explicit Agreement(std::string folder) : folder_(std::move(folder)) {}

  /// Whether such names are counted: those of arrays and caches.
  bool is_counted_kind(const std::string& name) const;
  void judge(const Look& look);
  /// Called when the tracker has cleaned up.
  void judge_end(const std::vector<Leftover>& there);
  const std::vector<std::string>& complaints() const noexcept { return complaints_; }

 private:
  std::set<std::string> names_in(const std::vector<Leftover>& there, const std::string& at);
  void judge_names(const Look& look);
  void judge_holders(const Look& look);

  std::string folder_;
  std::string promised_;         ///< Counted, and about to be made
  std::set<std::string> known_;  ///< Ever counted
  std::vector<std::string> complaints_;
};

std::set<std::string> names_of(const std::vector<tracker::Count>& counts);

}  // namespace lastref::harness::warden
