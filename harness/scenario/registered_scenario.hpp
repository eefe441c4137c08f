// RegisteredScenario: makes a scenario part of the catalog of every program that its file is linked
// into. Defined once in the scenario's file:
//
//     const RegisteredScenario registered([] {
//       return Scenario{.sentence = "...", .rows = {"T9"}, .roles = {{"root", root}}};
//     });
#pragma once

#include <source_location>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

class RegisteredScenario {
 public:
  /// @param make   called once, at the first use of the catalog. A scenario without a name is named
  /// for
  ///                its file: "tracker/root_is_killed".
  explicit RegisteredScenario(
      Scenario (*make)(),
      const std::source_location& where = std::source_location::current()) noexcept
      : make_(make), file_(where.file_name()), next_(last_) {
    last_ = this;
  }
  RegisteredScenario(const RegisteredScenario&) = delete;
  RegisteredScenario& operator=(const RegisteredScenario&) = delete;
  ~RegisteredScenario() = default;

 private:
  friend const std::vector<Scenario>& catalog();

  Scenario scenario() const;

  /// The one registered last; each points to the one registered before it.
  static const RegisteredScenario* last_;

  Scenario (*make_)();
  const char* file_;
  const RegisteredScenario* next_;
};

}  // namespace lastref::harness
