// words: words that code should not use, and their replacements.
#include <algorithm>
#include <string_view>

#include "property_tests/repo/tidy/rules.hpp"
#include "property_tests/repo/tidy/text.hpp"

namespace lastref::tidy {
namespace {

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
  static const std::vector<std::string_view> kernel(at_the_kernel.begin(), at_the_kernel.end());
  static const std::vector<Word> table = {
      {.names = {"sleep_for", "sleep_until", "usleep", "nanosleep", "sleep"},
       .instead = "wait for a condition, or poll on the Os clock",
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
       .instead = "a loop, for clang 14 cannot read the views of libstdc++ 12"},
      // What a task throws is caught where it runs, and a failed allocation at the boundary.
      {.names = {"throw", "try", "catch"},
       .instead = "Result",
       .where = product,
       .but = {"impl/backends/safely.hpp",
               "impl/backends/task.cpp",
               "impl/cache/copy.hpp",
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

/// The number of bytes up to and with `mark`, searched from `from`; all of them without it.
std::size_t past(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t at = text.find(mark, from);
  return at == std::string_view::npos ? text.size() : at + mark.size();
}

std::size_t size_of_literal(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

/// A word as it stands in code: qualified, and whether it is called.
struct Met {
  std::string_view name;
  bool called = false;
};

std::vector<Met> words_of(std::string_view line) {
  std::vector<Met> met;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t from = i;
    while (i < line.size() && (is_word(line[i]) || line.substr(i).starts_with("::"))) {
      i += is_word(line[i]) ? 1U : 2U;
    }
    if (i > from) {
      met.push_back({line.substr(from, i - from), i < line.size() && line[i] == '('});
    }
  }
  return met;
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

std::string code_of(const std::string& text) {
  std::string code = text;
  std::string_view rest = text;
  // Blanks out the next `size` bytes of the rest, or only steps over them.
  const auto take = [&](std::size_t size, bool blank) {
    const std::size_t from = text.size() - rest.size();
    size = std::min(size, rest.size());
    for (std::size_t i = from; blank && i < from + size; ++i) {
      code[i] = code[i] == '\n' ? '\n' : ' ';
    }
    rest.remove_prefix(size);
  };
  char before = ' ';
  while (!rest.empty()) {
    const char first = rest.front();
    if (rest.starts_with("//")) {
      take(rest.find('\n'), true);
    } else if (rest.starts_with("/*")) {
      take(past(rest, "*/", 2), true);
    } else if (rest.starts_with("R\"") && !is_word(before)) {
      const std::size_t open = std::min(rest.find('('), rest.size());
      const std::string close = ")" + std::string(rest.substr(2, open - 2)) + "\"";
      take(past(rest, close, open), true);
    } else if (first == '"' || (first == '\'' && !is_word(before))) {
      take(size_of_literal(rest), true);
    } else {
      take(1, false);
    }
    before = first;
  }
  return code;
}

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
  const std::string code = code_of(file.text);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(code)) {
    ++number;
    for (const Met& met : words_of(line)) {
      for (const Word* word : here) {
        if (matches(*word, met)) {
          findings.push_back({file.path,
                              number,
                              std::string(met.name) + ": instead, " + std::string(word->instead)});
        }
      }
    }
    if (line.find("using namespace std;") != std::string_view::npos) {
      findings.push_back({file.path, number, "using namespace std: instead, std::"});
    }
    if (line.find("GTEST_SKIP();") != std::string_view::npos) {
      findings.push_back({file.path, number, "GTEST_SKIP: name the capability that is missing"});
    }
  }
  return findings;
}

}  // namespace lastref::tidy
