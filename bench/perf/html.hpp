// html: text that was made by others, as HTML that shows it and does nothing else.
#pragma once

#include <string>
#include <string_view>

namespace lastref::perf {

/// For text and for attributes in either quotes. What is no UTF-8, or a control character, is shown
/// as "\xff".
std::string html(std::string_view text);

}  // namespace lastref::perf
