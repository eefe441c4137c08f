// functions: the functions that tests of backends call, in any process.
#pragma once

#include <memory>

#include <lastref/task.hpp>

namespace lastref::pretend {

/// All of them; made once.
std::shared_ptr<const Functions> test_functions();

}  // namespace lastref::pretend
