// hunt_members: violations, and the results of a hunt, as JSON: see json_fields.
#pragma once

#include "harness/explore/hunt.hpp"
#include "harness/report/json_fields.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

void visit_members(auto& visit, SameAs<Violation> auto& violation) {
  visit("scenario", violation.scenario);
  visit("claim", violation.claim);
  visit("seen", violation.seen);
  visit("fingerprint", violation.fingerprint);
  visit("run", violation.run);
  visit("repeats", violation.repeats);
  visit("replay", violation.replay);
  visit("switches", violation.switches);
  visit("timeline", violation.timeline);
  visit("last_crossings", violation.last_crossings);
}

void visit_members(auto& visit, SameAs<HuntedPolicy> auto& policy) {
  visit("policy", policy.name);
  visit("runs", policy.runs);
  visit("new_orders", policy.new_orders);
  visit("found", policy.found);
}

void visit_members(auto& visit, SameAs<HuntMoment> auto& moment) {
  visit("runs", moment.runs);
  visit("seconds", moment.seconds);
  visit("orders", moment.orders);
}

}  // namespace lastref::harness
