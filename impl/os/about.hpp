// about: says of an error what file it is about.
#pragma once

#include <string>
#include <utility>

#include <lastref/error.hpp>

namespace lastref::os {

/// A number of a descriptor tells people nothing, nor does a name without its folder: what a call
/// failed on has the path for a subject, and behind it what it said itself if that is more.
template <typename Value>
Result<Value> about(const std::string& path, Result<Value> result) {
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
