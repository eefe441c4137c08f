// html: escapes untrusted text, so that HTML shows it and does nothing else.
#pragma once

#include <string>
#include <string_view>

namespace lastref::perf {

/// For text and for attributes in single or double quotes. Bytes that are not UTF-8 and control
/// characters are shown as "\xff".
std::string html(std::string_view text);

}  // namespace lastref::perf
