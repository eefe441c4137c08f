#include "harness/scenario/parameter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/choice/choices.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

constexpr std::uint64_t usual_one_in = 4;

/// The usual value of a text is one of all that there are.
constexpr std::uint64_t usual_text_one_in = 8;

/// One of those other than the usual one.
std::string another_value(const DeclaredParameter& parameter, std::uint64_t lot) {
  if (parameter.form != nullptr) {
    return parameter.form->draw(lot);
  }
  std::vector<DeclaredParameter::Value> others = parameter.values;
  std::erase_if(others, [&](const auto& value) { return value.text == parameter.usual; });
  return others.at(lot % others.size()).text;
}

template <typename Listed, typename Name>
std::string list_of(const Listed& listed, Name name) {
  std::string text;
  for (const auto& each : listed) {
    text += (text.empty() ? "" : ", ") + name(each);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

const DeclaredParameter::Value* DeclaredParameter::value_named(
    std::string_view text) const noexcept {
  const auto found = std::ranges::find(values, text, &Value::text);
  return found == values.end() ? nullptr : &*found;
}

bool DeclaredParameter::may_be(std::string_view text) const {
  return form == nullptr ? value_named(text) != nullptr : form->check(text).has_value();
}

std::string describe(const ParameterError& error) {
  switch (error.mistake) {
    case ParameterMistake::no_assignment:
      return fmt::format("{}: not NAME=VALUE", error.text);
    case ParameterMistake::unknown_name:
      return fmt::format("{}: no such parameter; there are: {}", error.text, error.allowed);
    case ParameterMistake::unknown_value:
      return fmt::format("{}: out of range; values are: {}", error.text, error.allowed);
    case ParameterMistake::wrong_form:
      return fmt::format("{}; there may be: {}", error.text, error.allowed);
    case ParameterMistake::repeated:
      return fmt::format("{}: this parameter has a value already", error.text);
  }
  return {};
}

std::string to_text(const ParameterValue& value) {
  return value.name + '=' + value.value;
}

std::string to_text(std::span<const ParameterValue> values) {
  std::string text;
  for (const ParameterValue& each : values) {
    text += (text.empty() ? "" : " ") + to_text(each);
  }
  return text;
}

tl::expected<ParameterValues, ParameterError> parse_parameters(
    std::span<const DeclaredParameter> declared, std::span<const std::string> texts) {
  ParameterValues given;
  const auto refusal = [](ParameterMistake mistake, std::string text, std::string allowed = {}) {
    return tl::unexpected(
        ParameterError{.mistake = mistake, .text = std::move(text), .allowed = std::move(allowed)});
  };
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0) {
      return refusal(ParameterMistake::no_assignment, text);
    }
    ParameterValue one = {.name = text.substr(0, at), .value = text.substr(at + 1)};
    const auto found = std::ranges::find(declared, one.name, &DeclaredParameter::name);
    if (found == declared.end()) {
      return refusal(ParameterMistake::unknown_name, text, list_of(declared, [](const auto& each) {
                       return each.name;
                     }));
    }
    if (found->form != nullptr) {
      if (const auto checked = found->form->check(one.value); !checked) {
        return refusal(ParameterMistake::wrong_form,
                       one.name + ": " + checked.error().part,
                       checked.error().allowed);
      }
    } else if (found->value_named(one.value) == nullptr) {
      return refusal(ParameterMistake::unknown_value,
                     text,
                     list_of(found->values, [](const auto& each) { return each.text; }));
    }
    if (std::ranges::find(given, one.name, &ParameterValue::name) != given.end()) {
      return refusal(ParameterMistake::repeated, text);
    }
    given.push_back(std::move(one));
  }
  std::ranges::sort(given);
  return given;
}

bool has_all(std::span<const DeclaredParameter> declared, const ParameterValues& values) {
  return std::ranges::all_of(values, [&](const ParameterValue& each) {
    const auto found = std::ranges::find(declared, each.name, &DeclaredParameter::name);
    return found != declared.end() && found->may_be(each.value);
  });
}

bool has_text(std::span<const DeclaredParameter> declared, const ParameterValues& values) {
  return std::ranges::any_of(values, [&](const ParameterValue& each) {
    const auto found = std::ranges::find(declared, each.name, &DeclaredParameter::name);
    return found != declared.end() && found->form != nullptr;
  });
}

ParameterValues unusual(std::span<const DeclaredParameter> declared, ParameterValues values) {
  std::erase_if(values, [&](const ParameterValue& each) {
    return std::ranges::any_of(declared, [&](const DeclaredParameter& parameter) {
      return parameter.name == each.name && parameter.usual == each.value;
    });
  });
  return values;
}

ParameterValues draw_parameters(std::span<const DeclaredParameter> declared,
                                const ParameterValues& fixed,
                                std::uint64_t seed) {
  std::uint64_t chance = seed;
  ParameterValues drawn = fixed;
  const bool are_usual = next_random(chance) % usual_one_in == 0;
  for (const DeclaredParameter& each : declared) {
    // Its own sequence: another parameter added to the scenario changes none of its draws.
    std::uint64_t lot = chance ^ hash_of(each.name);
    const std::uint64_t usual_in = each.form == nullptr ? 2 : usual_text_one_in;
    const bool is_usual = next_random(lot) % usual_in == 0;
    const bool is_fixed = std::ranges::find(fixed, each.name, &ParameterValue::name) != fixed.end();
    if (!are_usual && !is_usual && !is_fixed) {
      drawn.push_back({.name = each.name, .value = another_value(each, next_random(lot))});
    }
  }
  std::ranges::sort(drawn);
  return unusual(declared, std::move(drawn));
}

}  // namespace lastref::harness
