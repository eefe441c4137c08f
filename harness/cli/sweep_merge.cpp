#include "harness/cli/sweep_merge.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/choice/shard.hpp"
#include "harness/cli/suite.hpp"
#include "harness/cli/sweep_folder.hpp"
#include "harness/cli/sweep_report.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

class Merge {
 public:
  Status read(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      LASTREF_TRY(sweep, read_sweep(folder));
      if (&folder == &folders.front()) {
        all_.list = sweep.list;
        all_.session.source = sweep.session.source;
        for (const SweptProgram& each : sweep.programs) {
          all_.programs.push_back({.name = each.name,
                                   .folder = each.folder,
                                   .run = each.run,
                                   .is_planned = each.is_planned,
                                   .line = each.line,
                                   .cells = each.cells});
        }
      }
      if (sweep.list != all_.list) {
        return failure(std::errc::invalid_argument,
                       difference_of_lists(folder, sweep.list, folders.front(), all_.list));
      }
      add(folder, std::move(sweep));
    }
    return ok();
  }

  Report report(std::chrono::year_month_day today) {
    std::vector<std::string> complete;
    for (const SweptProgram& each : all_.programs) {
      add_program(each, complete);
    }
    set_known_apart(report_, all_.session.known, today, complete);
    report_.after += missing_shards();
    report_.verb = "merge";
    report_.source = all_.session.source;
    report_.exit = !report_.groups.empty() ? Exit::violation
                   : is_incomplete_        ? Exit::incomplete
                                           : Exit::clean;
    report_.verdict = fmt::format(
        "{} of {} faults tried; {}", tried_, cells_, counted(report_.groups.size(), "new finding"));
    report_.fields = std::make_shared<const Json>(
        Json{{"suite", report_.source}, {"stories", std::move(stories_)}});
    return std::move(report_);
  }

 private:
  void add(const std::string& folder, RecordedSweep sweep) {
    std::size_t again = 0;
    for (std::size_t at = 0; at < all_.programs.size(); ++at) {
      SweptProgram& program = all_.programs[at];
      for (auto& [cell, outcome] : sweep.programs[at].outcomes) {
        again += program.outcomes.emplace(cell, std::move(outcome)).second ? 0U : 1U;
      }
      std::ranges::move(sweep.programs[at].confirmations,
                        std::back_inserter(program.confirmations));
      std::ranges::move(sweep.programs[at].shown_without_faults,
                        std::back_inserter(program.shown_without_faults));
    }
    if (again > 0) {
      report_.after += fmt::format("TRIED TWICE    {} in {}, which another folder has, too\n",
                                   counted(again, "fault"),
                                   folder);
    }
    if (const auto shard = parse_shard(sweep.session.shard)) {
      shards_[shard->all].insert(shard->number);
    }
    for (KnownFinding& each : sweep.session.known) {
      const bool is_new = std::ranges::none_of(all_.session.known, [&](const KnownFinding& known) {
        return known.story == each.story && known.fingerprint == each.fingerprint;
      });
      if (is_new) {
        all_.session.known.push_back(std::move(each));
      }
    }
  }

  void add_program(const SweptProgram& program, std::vector<std::string>& complete) {
    Report report = report_of(program, program.cells.size());
    if (!program.is_planned) {
      report.exit = Exit::incomplete;
      report.verdict = "not clean without faults";
      report.cases.front().error = report.verdict;
    } else if (program.outcomes.size() == program.cells.size()) {
      complete.push_back(program.name);
    }
    tried_ += program.outcomes.size();
    cells_ += program.cells.size();
    // Findings do not hide that something is missing.
    is_incomplete_ = is_incomplete_ || report.exit == Exit::incomplete ||
                     program.outcomes.size() < program.cells.size() ||
                     std::ranges::any_of(program.outcomes, [](const auto& each) {
                       return each.second.result != CellResult::tried;
                     });
    report_.after += fmt::format("{:<14} {}\n{}", program.name, report.verdict, report.after);
    std::ranges::move(report.groups, std::back_inserter(report_.groups));
    std::ranges::move(report.cases, std::back_inserter(report_.cases));
    std::ranges::move(report.maps, std::back_inserter(report_.maps));
    Json fields = {{"story", program.name}};
    fields.update(*report.fields);
    stories_.push_back(std::move(fields));
  }

  std::string missing_shards() const {
    std::string text;
    for (const auto& [all, numbers] : shards_) {
      for (std::size_t number = 1; number <= all && numbers.size() < all; ++number) {
        if (!numbers.contains(number)) {
          text += fmt::format("MISSING        shard {}/{}\n", number, all);
        }
      }
    }
    return text;
  }

  RecordedSweep all_;
  std::map<std::size_t, std::set<std::size_t>> shards_;  ///< Numbers, by how many there are
  Report report_;
  Json stories_ = Json::array();
  std::size_t tried_ = 0;
  std::size_t cells_ = 0;
  bool is_incomplete_ = false;
};

}  // namespace

Result<Report> merge_sweeps(const std::vector<std::string>& folders,
                            std::chrono::year_month_day today) {
  Merge merge;
  LASTREF_CHECK(merge.read(folders));
  return merge.report(today);
}

}  // namespace lastref::harness
