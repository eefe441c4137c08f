// words: words that code should not use, and their replacements.
#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>

#include "harness/mutant/code.hpp"
#include "property_tests/repo/tidy/rules.hpp"

namespace lastref::tidy {
namespace {

using harness::Token;

/// Words of code, and where they are banned: below one of `where`, and in none of `but`. A word
/// with a "::" matches with its qualification, and one that ends in "*" is the start of a word.
struct Word {
  std::vector<std::string_view> names;
  std::string_view instead;
  std::vector<std::string_view> where = {""};
  std::vector<std::string_view> but = {};
  bool only_called = false;
};

const std::vector<Word>& words() {
  static const std::vector<std::string_view> product = {"impl/"};
  // As users write them.
  static const std::vector<std::string_view> programs = {"property_tests/impl/programs/"};
  static const std::vector<std::string_view> kernel(at_the_kernel.begin(), at_the_kernel.end());
  static const std::vector<Word> table = {
      {.names = {"sleep_for", "sleep_until", "usleep", "nanosleep", "sleep"},
       .instead = "wait for a condition, or poll on the Os clock",
       .but = programs,
       .only_called = true},
      {.names = {"random_device", "rand", "srand"},
       .instead = "ask Choices, or Os::entropy in the product"},
      {.names = {"system", "popen"}, .instead = "Os::spawn", .only_called = true},
      {.names = {"getenv", "secure_getenv"},
       .instead = "Os::environment, or read it in main",
       .but = {"impl/os/kernel_os",
               "harness/cli/main.cpp",
               "property_tests/support/process_group"}},
      {.names = {"DISABLED_*"}, .instead = "mend the test, or delete it"},
      {.names = {"assert"}, .instead = "LASTREF_ASSERT, which stays on", .only_called = true},
      {.names = {"std::views*", "std::ranges::views*"},
       .instead = "a loop, for clang 14 cannot read the views of libstdc++ 12",
       .but = programs},
      // What a task throws is caught where it runs, and a failed allocation at the boundary.
      {.names = {"throw", "try", "catch"},
       .instead = "Result",
       .where = product,
       .but = {"impl/backends/exceptions.hpp",
               "impl/backends/task.cpp",
               "impl/cache/copy.hpp",
               "impl/include/lastref/codec.hpp",
               "impl/include/lastref/error.hpp",
               "impl/os/failure.cpp",
               "impl/include/lastref/weak_array_key_map.hpp",
               "impl/os/within_memory.hpp"}},
      {.names =
           {"std::thread", "std::jthread", "std::mutex", "std::condition_variable", "pthread_*"},
       .instead = "Os::start_thread and Os::make_monitor",
       .where = product,
       .but = kernel},
      {.names = {"steady_clock", "system_clock", "high_resolution_clock"},
       .instead = "Os::now",
       .where = product,
       .but = kernel},
      {.names = {"filesystem", "ifstream", "ofstream", "fstream", "fopen"},
       .instead = "Os",
       .where = product,
       .but = kernel},
      {.names = {"cout", "cerr", "printf", "fprintf", "puts"},
       .instead = "report_quietly",
       .where = product},
      {.names = {"fork", "vfork"}, .instead = "Os::spawn", .but = kernel, .only_called = true},
      {.names = {"errno"}, .instead = "Error::code", .where = product, .but = kernel},
      {.names = {"injected"},
       .instead = "nothing: the product never looks",
       .where = product,
       .but = {"impl/include/lastref/error.hpp", "impl/os/"}},
      {.names = {"std::atomic_ref"},
       .instead = "SharedWord: what processes race on is stepped through",
       .where = product,
       .but = {"impl/os/shared_word.hpp"}},
  };
  return table;
}

/// A name in code: qualified, and whether it is called.
struct Met {
  std::string_view name;
  bool called = false;
};

bool is_adjacent(std::span<const Token> tokens, std::size_t at) {
  return at < tokens.size() && tokens[at - 1].end() == tokens[at].begin;
}

bool is_part_of_name(const Token& token) {
  return token.kind == Token::Kind::word || token.text == "::";
}

/// The name that begins at the token; moves `at` to its last token.
Met name_at(std::string_view text, std::span<const Token> tokens, std::size_t& at) {
  const std::size_t begin = tokens[at].begin;
  while (is_adjacent(tokens, at + 1) && is_part_of_name(tokens[at + 1])) {
    ++at;
  }
  return {text.substr(begin, tokens[at].end() - begin),
          is_adjacent(tokens, at + 1) && tokens[at + 1].text == "("};
}

bool starts_with(std::span<const Token> tokens, std::initializer_list<std::string_view> texts) {
  return tokens.size() >= texts.size() &&
         std::ranges::equal(tokens.first(texts.size()), texts, {}, &Token::text);
}

bool matches(const Word& word, const Met& met) {
  if (word.only_called && !met.called) {
    return false;
  }
  return std::ranges::any_of(word.names, [&](std::string_view name) {
    const std::size_t colon = met.name.rfind("::");
    const std::string_view last =
        colon == std::string_view::npos ? met.name : met.name.substr(colon + 2);
    if (name.ends_with('*')) {
      const std::string_view start = name.substr(0, name.size() - 1);
      return met.name.starts_with(start) || last.starts_with(start);
    }
    return met.name == name || last == name;
  });
}

}  // namespace

std::vector<Finding> check_words(const File& file) {
  std::vector<Finding> findings;
  if (!is_cpp(file.path)) {
    return findings;
  }
  std::vector<const Word*> here;
  for (const Word& word : words()) {
    if (starts_with_any(file.path, word.where) && !starts_with_any(file.path, word.but)) {
      here.push_back(&word);
    }
  }
  const std::vector<Token> tokens = tokens_of(file.text, harness::Directives::are_tokens);
  std::size_t line = 1;
  std::size_t counted = 0;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const std::span rest = std::span(tokens).subspan(at);
    line += static_cast<std::size_t>(std::ranges::count(
        std::string_view(file.text).substr(counted, rest[0].begin - counted), '\n'));
    counted = rest[0].begin;
    if (starts_with(rest, {"using", "namespace", "std", ";"})) {
      findings.push_back({file.path, line, "using namespace std: instead, std::"});
    }
    if (starts_with(rest, {"GTEST_SKIP", "(", ")", ";"})) {
      findings.push_back({file.path, line, "GTEST_SKIP: name the capability that is missing"});
    }
    if (!is_part_of_name(rest[0])) {
      continue;
    }
    const Met met = name_at(file.text, tokens, at);
    for (const Word* word : here) {
      if (matches(*word, met)) {
        findings.push_back(
            {file.path, line, std::string(met.name) + ": instead, " + std::string(word->instead)});
      }
    }
  }
  return findings;
}

}  // namespace lastref::tidy
