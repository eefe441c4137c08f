// kernel_os_loader: loads shared objects. Not a part of the library: a static program cannot.
#pragma once

#include <string>

#include <lastref/error.hpp>

#include "impl/os/kernel_os_objects.hpp"

namespace lastref::os {

/// Loads a shared object, which stays loaded.
///
/// Errors          executable_format_error: it or a library that it needs cannot be loaded; the
///                 subject has the loader's reason.
Result<ObjectFile> load_object_file(const std::string& path);

}  // namespace lastref::os
