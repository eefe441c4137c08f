// Code: a C++ source as tokens and statements, as far as small changes of it need that.
//
// No parser: a token is a word, a number, a text or a mark, and what is a body is guessed from the
// token before its brace. The guess fits how this project is formatted; where it fails, a change
// does not compile, or one that could have been made is not offered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lastref::harness {

struct Token {
  enum class Kind : std::uint8_t { word, number, text, mark };

  Kind kind = Kind::mark;
  std::size_t begin = 0;  ///< index of its first byte
  std::string_view text;

  std::size_t end() const noexcept { return begin + text.size(); }
};

/// All but comments and what the preprocessor reads. Tokens are views of `source`.
std::vector<Token> tokens_of(std::string_view source);

/// What the function around a statement gives back, as far as its head says so.
enum class Returns : std::uint8_t { unknown, nothing, something };

/// One that ends with a semicolon, in a body.
struct Statement {
  std::size_t first = 0;  ///< index of a token
  std::size_t last = 0;   ///< index of its semicolon
  std::size_t block = 0;  ///< Those between the same braces have the same one.
  Returns returns = Returns::unknown;
};

struct Code {
  std::vector<Token> tokens;
  std::vector<bool> is_run;  ///< Of each token: whether it lies in a body, or in a constant.
  std::vector<Statement> statements;
};

Code code_of(std::string_view source);

/// The token that closes the bracket at `open`; the number of tokens if none does.
std::size_t closing(const std::vector<Token>& tokens, std::size_t open) noexcept;

/// Whether it does something, and neither declares a name nor says where to go on. What only states
/// or reports a mistake of our own, or tells a probe, does nothing.
bool is_action(const Code& code, const Statement& statement) noexcept;

}  // namespace lastref::harness
