// prose: words that pages and comments avoid, because a noun, "it" or "you" says it better.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "property_tests/repo/tidy/rules.hpp"

namespace lastref::tidy {
namespace {

/// Whole words, in small letters. A process, thread or file is "it", and the user is "you".
constexpr auto avoided = std::to_array<std::string_view>({
    "anew",
    "anybody",
    "behind",
    "beside",
    "besides",
    "for ever",
    "nobody",
    "somebody",
    "who",
    "whoever",
    "whom",
    "whose",
});

char small(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool stands_at(std::string_view text, std::size_t at, std::string_view word) {
  const std::string_view here = text.substr(at, word.size());
  const std::size_t end = at + word.size();
  return std::ranges::equal(here, word, {}, small) && (at == 0 || !is_word(text[at - 1])) &&
         (end == text.size() || !is_word(text[end]));
}

}  // namespace

std::size_t count_avoided_words(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    count += std::ranges::any_of(avoided,
                                 [&](std::string_view word) { return stands_at(text, at, word); })
                 ? 1U
                 : 0U;
  }
  return count;
}

std::vector<Finding> check_prose(std::span<const File> files, std::span<const WordLimit> limits) {
  std::vector<Finding> findings;
  for (const WordLimit& limit : limits) {
    std::size_t count = 0;
    for (const File& file : files) {
      const bool counts = is_cpp(file.path) || file.path.ends_with(".md");
      count += counts && file.path.starts_with(limit.folder) ? count_avoided_words(file.text) : 0U;
    }
    if (count != limit.words) {
      findings.push_back({std::string(limit.folder),
                          0,
                          std::to_string(count) +
                              " words such as \"nobody\", \"whose\", \"anew\"; " +
                              (count < limit.words ? "lower the limit of " : "the limit is ") +
                              std::to_string(limit.words)});
    }
  }
  return findings;
}

}  // namespace lastref::tidy
