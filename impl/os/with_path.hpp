// with_path: adds to an error the file that it is about.
#pragma once

#include <string>
#include <utility>

#include <lastref/error.hpp>

namespace lastref::os {

/// The number of a descriptor means nothing to a person, nor does a name without its folder. So the
/// subject becomes the path, followed by the original subject if that adds something.
template <typename Value>
Result<Value> with_path(const std::string& path, Result<Value> result) {
  if (!result && result.error().call != Call::none) {
    std::string& subject = result.error().subject;
    const bool says_more = !subject.empty() && !subject.starts_with("fd ") &&
                           path.find(subject) == std::string::npos &&
                           subject.find(path) == std::string::npos;
    if (says_more) {
      subject = path + " (" + subject + ')';
    } else if (subject.find(path) == std::string::npos) {
      subject = path;
    }
  }
  return result;
}

}  // namespace lastref::os
