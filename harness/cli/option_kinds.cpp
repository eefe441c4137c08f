#include "harness/cli/option_kinds.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "harness/choice/shard.hpp"

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

CLI::Option* as_seconds(CLI::Option* option) {
  const CLI::Validator seconds(
      [](std::string& text) {
        const std::string given = text;
        double unit = 1;
        if (!text.empty() && std::string_view("smh").find(text.back()) != std::string::npos) {
          unit = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : 3600;
          text.pop_back();
        }
        double number = 0;
        const bool good =
            CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number * unit);
        text = fmt::format("{}", number * unit);
        return good ? std::string() : given + " is not a time above 0, such as 90, 90s or 1.5m";
      },
      "");
  return option->type_name("SECONDS[s|m|h]")->transform(seconds);
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

CLI::Option* add_shard(CLI::App& verb, std::string& shard, const std::string& help) {
  const CLI::Validator is_shard(
      [](const std::string& text) {
        const auto parsed = parse_shard(text);
        return parsed ? std::string() : parsed.error().subject;
      },
      "I/N");
  return verb.add_option("--shard", shard, help + ": 2/8 is the second of eight")->check(is_shard);
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
