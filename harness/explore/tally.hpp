// Tally: adds outcomes up to a report. Says nothing about what to run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/explore/jobs.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

class Tally {
 public:
  explicit Tally(std::string world) : world_(std::move(world)) {}

  /// Counts what one job gave. `scenario` is its index in the report.
  void add(Report& report, const Scenario& scenario, const Done& done);
  void reach(std::string_view place) { places_.emplace(place); }
  bool has_reached(std::string_view place) const { return places_.contains(place); }
  const std::set<std::string, std::less<>>& places() const noexcept { return places_; }
  /// Fills in points and groups.
  void finish(Report& report) const;

 private:
  void add_outcome(Report& report, const Outcome& outcome);
  void add_violations(Report& report, const Scenario& scenario, const Done& done);
  void compare(Report& report, const Scenario& scenario, const Done& done) const;

  std::string world_;
  std::set<std::string, std::less<>> places_;
  PointSet reached_;
  std::map<std::pair<std::string, std::string>, ViolationGroup> groups_;
};

}  // namespace lastref::harness
