// limits: numbers that bound something in the product and are not in impl/os/limits.def.
#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "harness/mutant/code.hpp"
#include "property_tests/repo/tidy/rules.hpp"

namespace lastref::tidy {
namespace {

using harness::Token;

/// What no world can set to another value.
struct Fixed {
  std::string_view reason;
  std::vector<std::string_view> names;
};

const std::vector<Fixed>& fixed() {
  static const std::vector<Fixed> table = {
      {.reason = "a file format, a protocol or a type has this number",
       .names = {"bytes_max",
                 "character_size",
                 "dims_max",
                 "itemsize_max",
                 "no_limit",
                 "number_size",
                 "receive_size",
                 "unit_count_max",
                 "value_size_max",
                 "word_size",
                 "count_max",
                 "entry_header_size",
                 "entry_size",
                 "function_name_size_max",
                 "head_size",
                 "header_size",
                 "id_size",
                 "identity_size",
                 "loky_line_size_max",
                 "loky_name_size_max",
                 "name_size_max",
                 "npy_text_size_max",
                 "offset_max",
                 "packet_size_max",
                 "pointer_size",
                 "record_head_size",
                 "record_header_size",
                 "short_text_size_max",
                 "text_size_max",
                 "time_size"}},
      {.reason = "the kernel has this number, or a file name has to fit into it",
       .names = {"context_size_max",
                 "fds_max",
                 "file_size_max",
                 "length_max",
                 "links_max",
                 "mask_size",
                 "message_max",
                 "name_length_max",
                 "own_name_length_max",
                 "page_size",
                 "path_length_max",
                 "path_size_max",
                 "processor_sets_max",
                 "runtime_size_max"}},
      {.reason = "a function without an Os, or below it, and it changes no behaviour",
       .names = {"compared_at_once",
                 "depth_max",
                 "folder_buffer_size",
                 "literal_depth_max",
                 "path_shown_max",
                 "shown_max",
                 "start_size"}},
  };
  return table;
}

constexpr std::string_view endings[] = {
    "_max", "_limit", "_size", "tries", "attempts", "_per_round", "_per_step", "_at_once", "chunk"};

bool is_limit(std::string_view name) {
  return std::ranges::any_of(endings, [&](auto ending) { return name.ends_with(ending); }) &&
         std::ranges::none_of(fixed(), [&](const Fixed& each) {
           return std::ranges::find(each.names, name) != each.names.end();
         });
}

/// The name of the number that a declaration after "constexpr" defines; empty if it is no number,
/// or a time.
std::string_view number_in(std::span<const Token> rest) {
  for (std::size_t at = 1; at < rest.size(); ++at) {
    const std::string_view text = rest[at].text;
    if (text == "=" || text == "{") {
      return rest[at - 1].text;
    }
    if (text == "(" || text == ";" || text == "chrono" || text == "double" ||
        text == "string_view") {
      return {};
    }
  }
  return {};
}

}  // namespace

std::vector<Finding> check_limits(const File& file) {
  std::vector<Finding> findings;
  if (!file.path.starts_with("impl/") || !is_cpp(file.path)) {
    return findings;
  }
  const std::vector<Token> tokens = harness::tokens_of(file.text);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at].text != "constexpr") {
      continue;
    }
    const std::string_view name = number_in(std::span(tokens).subspan(at));
    if (is_limit(name)) {
      const auto before = std::string_view(file.text).substr(0, tokens[at].begin);
      findings.push_back({file.path,
                          1 + static_cast<std::size_t>(std::ranges::count(before, '\n')),
                          std::string(name) + ": limits are rows of impl/os/limits.def"});
    }
  }
  return findings;
}

}  // namespace lastref::tidy
