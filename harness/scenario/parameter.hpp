// Parameter: a number, choice or text of a scenario that a run may change. Declared in the
// scenario's file, listed in its registration, and read by the bodies:
//
//     constexpr Parameter<std::size_t> workers = {
//         .name = "workers", .usual = 2, .values = {1, 2, 3}, .unit = "processes"};
//     ...
//     stage.value(workers)  // The same in every process of a run.
//
// A run has the usual values unless its plan has others. Its matrix of faults is that of the usual
// ones. A value has to change what the run does: a test compares journals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::harness {

/// The values that a parameter may have: at most twelve.
template <typename T>
class Values {
 public:
  constexpr Values() noexcept = default;
  constexpr Values(std::initializer_list<T> values) {
    for (const T& each : values) {
      add(each);
    }
  }
  constexpr void add(const T& value) { all_.at(size_++) = value; }
  constexpr auto begin() const noexcept { return all_.begin(); }
  constexpr auto end() const noexcept { return all_.begin() + size_; }

 private:
  std::array<T, 12> all_ = {};
  std::uint8_t size_ = 0;
};

/// All values of a bool, or of an enumeration with names (named_enum.hpp); none of a number.
template <typename T>
constexpr Values<T> all_values_of() {
  Values<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    values = {false, true};
  } else if constexpr (std::is_enum_v<T>) {
    for (std::size_t at = 0; at < names_of(T()).size(); ++at) {
      values.add(static_cast<T>(at));
    }
  }
  return values;
}

template <typename T>
struct Parameter {
  std::string_view name;
  T usual;
  Values<T> values = all_values_of<T>();
  std::string_view unit = {};
};

/// The part of a text that has the wrong form, and what may be there.
struct FormError {
  std::string part;
  std::string allowed;

  bool operator==(const FormError&) const = default;
};

/// The texts that a parameter may have as its value.
struct TextForm {
  std::string_view sentence;  ///< What they are, for lists.
  tl::expected<void, FormError> (*check)(std::string_view text);
  /// The same seed gives the same text.
  std::string (*draw)(std::uint64_t seed);
  /// Texts that say less: those that say least first, and the text itself is not one of them.
  std::vector<std::string> (*smaller)(std::string_view text);
};

/// A parameter with texts of a form of its own, such as a list of operations.
struct TextParameter {
  std::string_view name;
  std::string_view usual;
  const TextForm& form;
};

/// A parameter of any type, as the rest of the harness sees it.
struct DeclaredParameter {
  struct Value {
    std::string text;
    std::int64_t number = 0;
  };

  std::string name;
  std::string unit;
  std::string usual;
  std::vector<Value> values;  ///< Of a text: only the usual one
  const TextForm* form = nullptr;

  // NOLINTNEXTLINE(google-explicit-constructor): a list of them.
  DeclaredParameter(const TextParameter& of)
      : name(of.name), usual(of.usual), values({{.text = usual}}), form(&of.form) {}

  template <typename T>
  DeclaredParameter(const Parameter<T>& of)  // NOLINT(google-explicit-constructor): a list of them.
      : name(of.name), unit(of.unit), usual(text_of(of.usual)) {
    for (const T& each : of.values) {
      values.push_back({.text = text_of(each), .number = static_cast<std::int64_t>(each)});
    }
  }

  bool may_be(std::string_view text) const;
  /// Null if it is none of the listed values.
  const Value* value_named(std::string_view text) const noexcept;

 private:
  template <typename T>
  static std::string text_of(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "yes" : "no";
    } else if constexpr (std::is_enum_v<T>) {
      return std::string(name_of(value));
    } else {
      return std::to_string(value);
    }
  }
};

/// The value of a parameter in a run.
struct ParameterValue {
  std::string name;
  std::string value;

  auto operator<=>(const ParameterValue&) const = default;
};

/// Sorted by name. Parameters that are not in it have their usual values.
using ParameterValues = std::vector<ParameterValue>;

enum class ParameterMistake : std::uint8_t {
  no_assignment,
  unknown_name,
  unknown_value,
  wrong_form,
  repeated
};

/// Why a text assigns no value to a parameter.
struct ParameterError {
  ParameterMistake mistake{};
  std::string text;     ///< as given; of a wrong form: the name, and the part that is wrong
  std::string allowed;  ///< instead

  bool operator==(const ParameterError&) const = default;
};

std::string describe(const ParameterError& error);

/// "workers=3", and back.
std::string to_text(const ParameterValue& value);
tl::expected<ParameterValues, ParameterError> parse_parameters(
    std::span<const DeclaredParameter> declared, std::span<const std::string> texts);

/// "durable=yes workers=3"; empty if there are none.
std::string to_text(std::span<const ParameterValue> values);

/// Whether the scenario has these parameters, with these values.
bool has_all(std::span<const DeclaredParameter> declared, const ParameterValues& values);

/// Whether one of the values is a text.
bool has_text(std::span<const DeclaredParameter> declared, const ParameterValues& values);

/// Without those that are the usual ones: as a plan has them.
ParameterValues unusual(std::span<const DeclaredParameter> declared, ParameterValues values);

/// The values of a random run, without usual ones: those in `fixed`, and others at random. In one
/// of four draws all others are usual, because most faults of the matrix need that; else each is
/// usual at least half the time, but a text seldom. The same arguments give the same values.
ParameterValues draw_parameters(std::span<const DeclaredParameter> declared,
                                const ParameterValues& fixed,
                                std::uint64_t seed);

}  // namespace lastref::harness
