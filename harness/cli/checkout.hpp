// Checkout: the sources of this program, for verbs that need them.
#pragma once

#include <string>

namespace lastref::harness {

/// Folders of a checkout.
inline constexpr const char* mutants_folder = "fault_scenarios/mutants";
inline constexpr const char* tests_folder = "property_tests";

/// The nearest folder above this program that has mutants; empty if there is none.
std::string checkout_of_program();

}  // namespace lastref::harness
