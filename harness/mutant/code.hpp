// Code: a C++ source as tokens and statements, as far as small changes of it need that.
//
// It is not a parser: a token is a word, a number, a text or a mark, and the token before a brace
// decides whether a body follows. This guess fits the format of this project. Where it is wrong, a
// change does not compile, or a possible one is not offered.
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

/// What preprocessor lines are.
enum class Directives : std::uint8_t { are_left_out, are_tokens };

/// All tokens except comments. Tokens are views of `source`.
std::vector<Token> tokens_of(std::string_view source,
                             Directives directives = Directives::are_left_out);

/// What the function around a statement returns, as far as its head shows.
enum class Returns : std::uint8_t { unknown, nothing, something };

/// A statement that ends with a semicolon, in a body.
struct Statement {
  std::size_t first = 0;  ///< index of a token
  std::size_t last = 0;   ///< index of its semicolon
  std::size_t block = 0;  ///< Equal for statements directly inside the same braces.
  Returns returns = Returns::unknown;
};

struct Code {
  std::vector<Token> tokens;
  std::vector<bool> is_run;  ///< For each token: whether it lies in a body, or in a constant.
  std::vector<Statement> statements;
};

Code code_of(std::string_view source);

/// The token that closes the bracket at `open`; the number of tokens if none does.
std::size_t closing(const std::vector<Token>& tokens, std::size_t open) noexcept;

/// Whether it has an effect, and neither declares a name nor changes the control flow. A statement
/// that only asserts or reports a mistake of our own, or reports to a probe, has no effect.
bool is_action(const Code& code, const Statement& statement) noexcept;

}  // namespace lastref::harness
