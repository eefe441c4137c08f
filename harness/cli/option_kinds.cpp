#include "harness/cli/option_kinds.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace lastref::harness {

CLI::Validator above_zero() {
  return {[](const std::string& text) {
            double number = 0;
            const bool good =
                CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number > 0;
            return good ? std::string() : text + " is not a number above 0";
          },
          "NUMBER > 0"};
}

CLI::Validator whole_number() {
  return {[](const std::string& text) {
            std::uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [at, error] = std::from_chars(text.data(), end, number);
            const bool good = error == std::errc{} && at == end;
            return good ? std::string() : text + " is not a whole number, 0 or more";
          },
          "NUMBER"};
}

CLI::Option* repeatable(CLI::Option* option, const std::string& type) {
  return option->type_name(type)->expected(1)->take_all()->allow_extra_args(false);
}

void add_report_files(CLI::App& verb, ReportFiles& files) {
  verb.add_option("--json", files.json, "Report as JSON; - is standard output")->type_name("FILE");
  verb.add_option(
          "--junit", files.junit, "Report for CI systems, as JUnit XML; - is standard output")
      ->type_name("FILE");
  verb.add_option("--sarif",
                  files.sarif,
                  "Findings for code review tools, as SARIF 2.1.0; - is standard output")
      ->type_name("FILE");
  verb.add_option("--html", files.html, "Report as a self-contained page; - is standard output")
      ->type_name("FILE");
}

}  // namespace lastref::harness
