#include "harness/cli/report_output.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "harness/report/json.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/report_page.hpp"
#include "harness/report/sarif.hpp"
#include "harness/report/text.hpp"
#include "harness/report/trace.hpp"

namespace lastref::harness {

ReportOutput::ReportOutput(ReportFiles files) {
  targets_.emplace_back(std::move(files.json), &to_json);
  targets_.emplace_back(std::move(files.junit), &to_junit);
  targets_.emplace_back(std::move(files.sarif), &to_sarif);
  targets_.emplace_back(std::move(files.html), Writer{&to_html});
  targets_.emplace_back(std::move(files.trace), &to_trace);
}

bool ReportOutput::open(Invocation& invocation) {
  for (auto& [target, writer] : targets_) {
    if (!target.open()) {
      invocation.refuse("cannot write " + target.path());
      return false;
    }
  }
  return true;
}

void ReportOutput::write(const Report& report, std::ostream& people, Invocation& invocation) {
  invocation.end(report.exit);
  people << to_text(report) << std::flush;
  if (invocation.annotates) {
    people << to_annotations(report) << std::flush;
  }
  for (auto& [target, writer] : targets_) {
    if (target.wanted() && !target.write(writer(report))) {
      invocation.refuse("cannot write " + target.path());
    }
  }
}

bool ReportOutput::takes_standard_output() const {
  return std::ranges::any_of(targets_,
                             [](const auto& each) { return each.first.takes_standard_output(); });
}

bool is_terminal() {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/proc/self/fd/2", error);
  return target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") ||
         target.starts_with("/dev/console");
}

}  // namespace lastref::harness
