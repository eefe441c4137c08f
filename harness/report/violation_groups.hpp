// ViolationGroups: the violations of a campaign, grouped by scenario and claim. Of each group the
// first few are kept in full.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/report.hpp"

namespace lastref::harness {

class ViolationGroups {
 public:
  void add(Violation violation);
  /// Those of another part of the campaign
  void add(ViolationGroup group);
  /// Whether a violation in the run with this number may be kept in full.
  bool may_keep(const std::string& scenario, const std::string& claim, std::size_t run) const;
  /// The simplest first
  std::vector<ViolationGroup> sorted() const;

 private:
  ViolationGroup& group_of(const std::string& scenario, const std::string& claim);

  std::map<std::pair<std::string, std::string>, ViolationGroup> groups_;
};

}  // namespace lastref::harness
