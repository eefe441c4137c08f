// shape: lengths, titles, first lines, and what belongs to which list.
#include <algorithm>
#include <iterator>

#include "property_tests/repo/tidy/rules.hpp"

namespace lastref::tidy {
namespace {

constexpr std::size_t columns_max = 100;

/// Whether a path in the line starts at a folder that only one machine has.
bool names_a_machine(std::string_view line) {
  for (const std::string_view folder : {"work", "farm", "root", "home"}) {
    const std::string path = "/" + std::string(folder) + "/";
    const std::size_t at = line.find(path);
    if (at != std::string_view::npos &&
        (at == 0 || (!is_word(line[at - 1]) && line[at - 1] != '.'))) {
      return true;
    }
  }
  return false;
}

/// Whether a list of sources has the name as a word of its own.
bool names(std::string_view list, std::string_view source) {
  for (std::size_t at = list.find(source); at != std::string_view::npos;
       at = list.find(source, at + 1)) {
    const bool starts =
        at == 0 || std::string_view(" \n\t(").find(list[at - 1]) != std::string::npos;
    const std::size_t end = at + source.size();
    if (starts &&
        (end == list.size() || std::string_view(" \n\t)").find(list[end]) != std::string::npos)) {
      return true;
    }
  }
  return false;
}

bool has_errors_line(std::span<const std::string_view> above) {
  for (std::size_t i = above.size(); i > 0; --i) {
    std::string_view line = above[i - 1];
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("template <") && i == above.size()) {
      continue;
    }
    if (!line.starts_with("///")) {
      return false;
    }
    if (line.starts_with("/// Errors ")) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Finding& finding) {
  return out << finding.path << ':' << finding.line << ": " << finding.complaint;
}

std::vector<Finding> check_shape(const File& file) {
  std::vector<Finding> findings;
  const bool markdown = file.path.ends_with(".md");
  const std::vector<std::string_view> lines = lines_of(file.text);
  std::size_t titles = 0;
  bool fenced = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!markdown && lines[i].size() > columns_max) {
      findings.push_back({file.path, i + 1, "longer than 100 columns"});
    }
    fenced ^= lines[i].starts_with("```");
    titles += !fenced && lines[i].starts_with("# ") ? 1U : 0U;
    if (names_a_machine(lines[i])) {
      findings.push_back({file.path, i + 1, "a path of one machine"});
    }
    // In two pieces, so that this line may stand.
    for (const std::string_view word : {"TO"
                                        "DO",
                                        "FIX"
                                        "ME"}) {
      if (lines[i].find(word) != std::string_view::npos) {
        findings.push_back({file.path, i + 1, "work to do goes to the tracker"});
      }
    }
  }
  if (markdown && titles != 1) {
    findings.push_back({file.path, 0, "a page has exactly one title"});
  }
  const bool header = file.path.ends_with(".hpp");
  if ((header || file.path.ends_with(".def")) && !file.text.starts_with("// ")) {
    findings.push_back({file.path, 1, "starts with a sentence that says what it is"});
  }
  if (header && file.text.find("\n#pragma once\n") == std::string::npos) {
    findings.push_back({file.path, 0, "#pragma once is missing"});
  }
  return findings;
}

std::vector<Finding> check_docs(const File& file) {
  std::vector<Finding> findings;
  if (!file.path.starts_with("impl/include/") || room_of(file.path) == "impl/os") {
    return findings;
  }
  const std::vector<std::string_view> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("private:")) {
      break;
    }
    for (const std::string_view word : {"static ", "virtual ", "[[nodiscard]] "}) {
      line.remove_prefix(line.starts_with(word) ? word.size() : 0);
    }
    const bool returns_result = line.starts_with("Result<") || line.starts_with("Status ");
    if (returns_result && line.find('(') != std::string_view::npos &&
        !has_errors_line(std::span(lines).first(i))) {
      findings.push_back({file.path, i + 1, "say the Errors, each with the state that it leaves"});
    }
  }
  return findings;
}

/// Whether the list names the source, or a pattern that matches it: *.cpp in all folders,
/// oracle/*.cpp, or *_bench.cpp.
bool takes(std::string_view list, std::string_view source) {
  if (names(list, source)) {
    return true;
  }
  const std::string folder(source.substr(0, source.rfind('/') + 1));
  const std::size_t last_word = source.rfind('_');
  const bool is_in_pattern = names(list, folder + "*.cpp") ||
                             (last_word != std::string_view::npos &&
                              names(list, folder + '*' + std::string(source.substr(last_word))));
  return (list.find("file(GLOB_RECURSE") != std::string::npos && names(list, "*.cpp")) ||
         (list.find("file(GLOB ") != std::string::npos && is_in_pattern);
}

std::vector<Finding> check_sources(std::span<const File> files) {
  std::vector<Finding> findings;
  for (const File& source : files) {
    if (!source.path.ends_with(".cpp")) {
      continue;
    }
    const bool named = std::ranges::any_of(files, [&](const File& list) {
      constexpr std::string_view list_name = "CMakeLists.txt";
      if (!list.path.ends_with(list_name)) {
        return false;
      }
      const std::string_view folder =
          std::string_view(list.path).substr(0, list.path.size() - list_name.size());
      return source.path.starts_with(folder) &&
             takes(list.text, std::string_view(source.path).substr(folder.size()));
    });
    if (!named) {
      findings.push_back({source.path, 0, "no CMakeLists.txt above it names this source"});
    }
  }
  return findings;
}

std::vector<Finding> check_transcripts(std::span<const File> files) {
  std::vector<Finding> findings;
  for (const File& file : files) {
    constexpr std::string_view extension = ".transcript";
    if (!file.path.ends_with(extension)) {
      continue;
    }
    const std::string stem = file.path.substr(0, file.path.size() - extension.size());
    const bool has_source = std::ranges::any_of(files, [&](const File& source) {
      return source.path == stem + ".cpp" || source.path == stem + ".cmake";
    });
    if (!has_source) {
      findings.push_back({file.path, 0, "no test of this name is next to it"});
    }
  }
  return findings;
}

std::vector<Finding> check(std::span<const File> files) {
  std::vector<Finding> findings = check_sources(files);
  std::ranges::move(check_transcripts(files), std::back_inserter(findings));
  for (const File& file : files) {
    if (file.path.ends_with(".transcript")) {
      continue;  // These texts have the shape of the output that they show.
    }
    for (const auto rule : {check_includes, check_words, check_limits, check_shape, check_docs}) {
      std::ranges::move(rule(file), std::back_inserter(findings));
    }
  }
  return findings;
}

}  // namespace lastref::tidy
