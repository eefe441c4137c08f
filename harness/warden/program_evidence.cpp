#include "harness/warden/program_evidence.hpp"

#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/scenario/pattern.hpp"
#include "harness/warden/leftover_lines.hpp"

namespace lastref::harness::warden {
namespace {

std::string how_it_waits(const Waiting& waiting) {
  if (waiting.inside == "seccomp_do_user_notification") {
    return ", which a fault delays";
  }
  return waiting.inside.empty() || waiting.inside == "0" ? "" : ", " + waiting.inside;
}

}  // namespace

std::string to_text(const Hung& hung) {
  const Waiting& waiting = hung.waiting;
  return fmt::format("{} (thread {}) {}{}{}{}{}{}",
                     hung.role,
                     waiting.thread,
                     waiting.call == "none" ? "runs" : "in ",
                     waiting.call == "none" ? "" : waiting.call,
                     waiting.object.empty() ? "" : "(" + waiting.object + ")",
                     how_it_waits(waiting),
                     hung.holders.empty() ? "" : ", held by ",
                     fmt::join(hung.holders, ", "));
}

ProgramEvidence::ProgramEvidence() = default;

void ProgramEvidence::add_left(const std::vector<Leftover>& left) {
  for (const LeftoverLine& each : lines_of(left)) {
    const std::string maker = fmt::format("({}), made by {}", each.kind, each.maker);
    const auto [known, is_new] = makers_.emplace(each.pattern, maker);
    if (is_new) {
      left_.push_back(each.pattern);
    } else {
      known->second += "; " + maker;  // Several kinds in one folder have the same pattern.
    }
  }
}

void ProgramEvidence::add_exposed(const std::vector<Leftover>& exposed) {
  for (const LeftoverLine& each : lines_of(exposed)) {
    add_fact("",
             fact::exposed,
             fmt::format("{} ({}), which other users can write to, made by {}",
                         each.pattern,
                         each.kind,
                         each.maker));
  }
}

void ProgramEvidence::add(const Stayed& stayed, std::string_view since) {
  std::string text = fmt::format("{} ({}), {}{}",
                                 stayed.process.role,
                                 stayed.process.title,
                                 since,
                                 stayed.is_zombie ? ", a zombie" : "; we have killed it");
  for (const std::string& lock : stayed.locks) {
    text += ", holds a lock of " + lock;
  }
  add_fact(stayed.process.role, fact::stray, std::move(text));
}

void ProgramEvidence::add(const Hung& hung) {
  add_fact(hung.role, fact::hang, to_text(hung));
}

void ProgramEvidence::add(const Growth& growth) {
  add_fact(growth.role,
           fact::fd_left,
           fmt::format("{}: {} {}, and {} some rounds later, {:.2f} each round{}{}",
                       growth.role,
                       growth.from,
                       growth.what,
                       growth.to,
                       growth.each_round,
                       growth.most.empty() ? "" : ": ",
                       pattern_of(growth.most)));
}

void ProgramEvidence::add(const Crash& crash) {
  add_fact(crash.role, fact::died, std::string(fact::crashed)).value = crash.signal;
}

void ProgramEvidence::add_refuted(std::string claim, std::string seen) {
  add_fact("", fact::refuted, std::move(claim));
  add_fact("", fact::seen, std::move(seen));
}

Record& ProgramEvidence::add_fact(std::string_view role, std::string_view name, std::string text) {
  Record& record = records_.emplace_back();
  record.seq = static_cast<std::uint32_t>(texts_.size());
  record.kind = RecordKind::fact;
  record.role.assign(role);
  record.name.assign(name);
  record.text.assign(text);
  texts_.push_back(std::move(text));
  return record;
}

Evidence ProgramEvidence::evidence() const {
  return {.scenario = scenario_,
          .plan = plan_,
          .records = records_,
          .left = left_,
          .left_after_sweep = {},
          .standard_error = {},
          .files = {},
          .is_of_program = true,
          .texts = texts_,
          .makers = makers_};
}

}  // namespace lastref::harness::warden
