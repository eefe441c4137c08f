#include "harness/cli/report_output.hpp"

#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "harness/report/json.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/text.hpp"

namespace lastref::harness {

ReportOutput::ReportOutput(std::string json, std::string junit)
    : json_(std::move(json)), junit_(std::move(junit)) {}

bool ReportOutput::open(Invocation& invocation) {
  for (Target* target : {&json_, &junit_}) {
    if (!target->open()) {
      invocation.refuse("cannot write " + target->path());
      return false;
    }
  }
  return true;
}

void ReportOutput::write(const Report& report, std::ostream& people, Invocation& invocation) {
  invocation.end(report.exit);
  people << to_text(report) << std::flush;
  if (json_.wanted() && !json_.write(to_json(report))) {
    invocation.refuse("cannot write " + json_.path());
  }
  if (junit_.wanted() && !junit_.write(to_junit(report))) {
    invocation.refuse("cannot write " + junit_.path());
  }
}

bool ReportOutput::takes_standard_output() const {
  return json_.takes_standard_output() || junit_.takes_standard_output();
}

bool is_terminal() {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/proc/self/fd/2", error);
  return target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") ||
         target.starts_with("/dev/console");
}

}  // namespace lastref::harness
