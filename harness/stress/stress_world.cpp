#include "harness/stress/stress_world.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "harness/kernel/server.hpp"
#include "harness/stress/free_server.hpp"

namespace lastref::harness {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

void serve(int socket, const void* with, const std::string& missing) {
  serve_ungated_runs(socket, *static_cast<const StressOptions*>(with), missing);
}

std::string dumped(const json& message) {
  // The output of processes may be invalid UTF-8.
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string to_message(const StressPlan& plan) {
  return dumped({{"scenario", plan.scenario},
                 {"seed", plan.seed},
                 {"kills", plan.kills},
                 {"span", plan.span.count()}});
}

StressPlan plan_in(const std::string& message) {
  const json plan = json::parse(message);
  return {.scenario = plan.at("scenario"),
          .seed = plan.at("seed"),
          .kills = plan.at("kills"),
          .span = microseconds(plan.at("span").get<std::int64_t>())};
}

std::string to_message(const StressOutcome& outcome) {
  json findings = json::array();
  for (const Finding& each : outcome.findings) {
    findings.push_back({{"claim", each.claim}, {"seen", each.seen}});
  }
  return dumped({{"findings", findings},
                 {"left_out", outcome.left_out},
                 {"killed", outcome.killed},
                 {"took", outcome.took.count()},
                 {"standard_error", outcome.standard_error}});
}

StressOutcome outcome_in(const std::string& message) {
  const json told = json::parse(message);
  StressOutcome outcome{.findings = {},
                        .left_out = told.at("left_out"),
                        .killed = told.at("killed"),
                        .took = microseconds(told.at("took").get<std::int64_t>()),
                        .standard_error = told.at("standard_error")};
  for (const json& each : told.at("findings")) {
    outcome.findings.push_back({.claim = each.at("claim"), .seen = each.at("seen")});
  }
  return outcome;
}

StressWorld::StressWorld(StressOptions options)
    : options_(std::move(options)), server_(std::make_unique<ServerProcess>(serve, &options_)) {
  if (!receive_message(server_->socket(), missing_)) {
    missing_ = "the server of ungated runs does not start";
  }
}

StressWorld::~StressWorld() = default;

StressOutcome StressWorld::run(const StressPlan& plan) {
  std::string answer;
  if (!send_message(server_->socket(), to_message(plan)) ||
      !receive_message(server_->socket(), answer)) {
    return {.findings = {{.claim = "harness: the server of ungated runs outlives every run",
                          .seen = "it is gone"}}};
  }
  return outcome_in(answer);
}

}  // namespace lastref::harness
