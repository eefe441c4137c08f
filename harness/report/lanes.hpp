// lanes: the calls of a run on a page, with a lane for each process.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lastref::harness {

/// For the page's style.
extern const std::string_view lanes_style;

/// `timeline` is a list of {"role", "text", "mark"}, in the order of the run. Calls that are far
/// from any mark are counted only. Empty: there are no calls.
std::string lanes_of(const nlohmann::ordered_json& timeline);

}  // namespace lastref::harness
