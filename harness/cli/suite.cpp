#include "harness/cli/suite.hpp"

// Some of its assertions fail at keys that are none; without them it reports those as errors.
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "harness/cli/names.hpp"

namespace lastref::harness {
namespace {

using std::chrono::year_month_day;

std::string to_text(const year_month_day& day) {
  return fmt::format("{:04}-{:02}-{:02}",
                     static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

/// A finding of one story.
bool is_about(const KnownFinding& known, const ViolationGroup& group) {
  return known.story == group.scenario && known.fingerprint == group.fingerprint;
}

class SuiteParser {
 public:
  explicit SuiteParser(std::string name) : name_(std::move(name)) {}

  Result<Suite> parse(std::string_view text) {
    // Fuzzing found undefined behaviour of the parser at others.
    const auto is_plain = [](char each) {
      return (each >= ' ' && each <= '~') || each == '\t' || each == '\n' || each == '\r';
    };
    const auto* const other = std::ranges::find_if_not(text, is_plain);
    if (other != text.end()) {
      const auto line = 1 + std::count(text.begin(), other, '\n');
      return failure(
          std::errc::invalid_argument,
          fmt::format(
              "{}:{}: a byte that is not ASCII text; write \\u00e4, for example", name_, line));
    }
    toml::table all;
    try {
      all = toml::parse(text, name_);
    } catch (const toml::parse_error& error) {
      return wrong(error.source(), std::string(error.description()));
    }
    for (const auto& [key, node] : all) {
      const bool is_stories = key.str() == "story" && node.is_table();
      const bool is_known = key.str() == "known" && node.is_array_of_tables();
      if (!is_stories && !is_known) {
        return wrong(key.source(),
                     fmt::format("\"{}\" is neither [story.NAME] nor [[known]]", key.str()));
      }
      LASTREF_CHECK(is_stories ? add_stories(*node.as_table()) : add_known(*node.as_array()));
    }
    if (suite_.stories.empty()) {
      return failure(std::errc::invalid_argument, name_ + ": there is no [story.NAME]");
    }
    for (const KnownFinding& each : suite_.known) {
      if (std::ranges::find(suite_.stories, each.story, &Story::name) == suite_.stories.end()) {
        return failure(std::errc::invalid_argument,
                       fmt::format("{}: [[known]]: there is no [story.{}]{}",
                                   name_,
                                   each.story,
                                   suggestion(each.story, suite_.names())));
      }
    }
    return std::move(suite_);
  }

 private:
  tl::unexpected<Error> wrong(const toml::source_region& where, const std::string& what) const {
    return failure(std::errc::invalid_argument,
                   fmt::format("{}:{}: {}", name_, where.begin.line, what));
  }

  /// In the order of the file, which the table has not kept.
  Status add_stories(const toml::table& stories) {
    for (const auto& [key, node] : stories) {
      if (!node.is_table()) {
        return wrong(key.source(), fmt::format("[story.{}] is no table", key.str()));
      }
      LASTREF_CHECK(add_story(std::string(key.str()), *node.as_table()));
    }
    std::ranges::stable_sort(suite_.stories, {}, &Story::line);
    return ok();
  }

  /// The keys are options: the parser of the command line reads them.
  Status add_story(std::string name, const toml::table& table) {
    std::vector<std::string> words = {"lastref", "run"};
    std::vector<std::string> command;
    for (const auto& [key, node] : table) {
      const std::string_view option = key.str();
      if (!line_.takes_in_story(option)) {
        return wrong(key.source(), fmt::format("a story has no \"{}\"", option));
      }
      if (option == "command") {
        LASTREF_TRY(words_of_command, command_in(node));
        command = std::move(words_of_command);
      } else {
        LASTREF_CHECK(add_option(std::string(option), node, words));
      }
    }
    if (command.empty()) {
      return wrong(table.source(), fmt::format("[story.{}] has no command", name));
    }
    words.emplace_back("--sweep");
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    std::vector<const char*> arguments;
    std::ranges::transform(
        words, std::back_inserter(arguments), [](const auto& word) { return word.c_str(); });
    auto parsed = line_.parse(arguments);
    if (!parsed) {
      std::string said = parsed.error().text;
      said.erase(said.find_last_not_of('\n') + 1);
      return wrong(table.source(), fmt::format("[story.{}]: {}", name, said));
    }
    suite_.stories.push_back({.name = std::move(name),
                              .options = std::get<RunVerbOptions>(*std::move(parsed)),
                              .line = table.source().begin.line});
    return ok();
  }

  Result<std::vector<std::string>> command_in(const toml::node& node) const {
    if (const auto line = node.value<std::string>(); line && node.is_string()) {
      return std::vector<std::string>{"sh", "-c", *line};
    }
    std::vector<std::string> words;
    if (const toml::array* const list = node.as_array(); list != nullptr && !list->empty()) {
      for (const toml::node& each : *list) {
        LASTREF_TRY(word, text_of_value(each));
        words.push_back(std::move(word));
      }
      return words;
    }
    return wrong(node.source(), "command is a line for a shell, or a list of words");
  }

  Result<std::string> text_of_value(const toml::node& node) const {
    if (node.is_string()) {
      return **node.as_string();
    }
    if (node.is_integer()) {
      return std::to_string(**node.as_integer());
    }
    if (node.is_floating_point()) {
      return fmt::format("{}", **node.as_floating_point());
    }
    return wrong(node.source(), "this is neither a text nor a number");
  }

  Status add_option(const std::string& key,
                    const toml::node& node,
                    std::vector<std::string>& words) const {
    if (node.is_boolean()) {
      if (**node.as_boolean()) {
        words.push_back("--" + key);
      }
      return ok();
    }
    if (const toml::array* const list = node.as_array()) {
      for (const toml::node& each : *list) {
        LASTREF_TRY(value, text_of_value(each));
        words.push_back(fmt::format("--{}={}", key, value));
      }
      return ok();
    }
    LASTREF_TRY(value, text_of_value(node));
    words.push_back(fmt::format("--{}={}", key, value));
    return ok();
  }

  Status add_known(const toml::array& all) {
    for (const toml::node& each : all) {
      const toml::table& table = *each.as_table();
      KnownFinding known;
      for (const auto& [key, node] : table) {
        std::string* const text = key.str() == "story"         ? &known.story
                                  : key.str() == "fingerprint" ? &known.fingerprint
                                  : key.str() == "reason"      ? &known.reason
                                                               : nullptr;
        if (text != nullptr && node.is_string()) {
          *text = **node.as_string();
        } else if (key.str() == "until" && node.is_date()) {
          const toml::date& date = **node.as_date();
          known.until = year_month_day(std::chrono::year(date.year),
                                       std::chrono::month(date.month),
                                       std::chrono::day(date.day));
        } else {
          return wrong(key.source(),
                       "[[known]] has story, fingerprint and reason, which are texts, and until, "
                       "which is a date");
        }
      }
      if (known.story.empty() || known.fingerprint.empty() || known.reason.empty()) {
        return wrong(table.source(), "[[known]] needs story, fingerprint and reason");
      }
      suite_.known.push_back(std::move(known));
    }
    return ok();
  }

  std::string name_;
  CommandLine line_;
  Suite suite_;
};

}  // namespace

bool is_expired(const KnownFinding& known, year_month_day today) {
  return known.until && *known.until < today;
}

std::vector<std::string> Suite::names() const {
  std::vector<std::string> names;
  std::ranges::transform(stories, std::back_inserter(names), &Story::name);
  return names;
}

Result<Suite> parse_suite(std::string_view text, const std::string& name) {
  return SuiteParser(name).parse(text);
}

void set_known_apart(Report& report,
                     const std::vector<KnownFinding>& known,
                     year_month_day today,
                     const std::vector<std::string>& complete) {
  for (const KnownFinding& each : known) {
    const auto found = std::ranges::find_if(
        report.groups, [&](const ViolationGroup& group) { return is_about(each, group); });
    const bool is_seen = found != report.groups.end();
    const std::string what = fmt::format("{} {}: {}", each.story, each.fingerprint, each.reason);
    if (is_seen && is_expired(each, today)) {
      report.after += fmt::format("EXPIRED        {}, until {}\n", what, to_text(*each.until));
      found->note = fmt::format("expired: {}, until {}", each.reason, to_text(*each.until));
    } else if (is_seen) {
      report.after += fmt::format("KNOWN          {}: {}\n", what, found->claim);
      found->note = "known: " + each.reason;
      report.known.push_back(std::move(*found));
      report.groups.erase(found);
    } else if (std::ranges::find(complete, each.story) != complete.end()) {
      report.after += fmt::format("NO LONGER SEEN {}\n", what);
    }
  }
}

}  // namespace lastref::harness
