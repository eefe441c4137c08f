// whole_files: visits the recorded contents of files of one kind in order, with the journal up to
// each.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// Whether that call gives a file another name, which is the text of its record.
bool gives_name(Call call) noexcept;
/// Whether it has done so.
bool gave_name(const Record& record) noexcept;

/// Calls `judge` with each recorded content of a file of that kind, and the records before it.
/// Skips files that an outside party wrote last.
void for_each_file(const Evidence& evidence,
                   const std::function<bool(std::string_view path)>& is_kind,
                   const std::function<void(const FileLook&, std::span<const Record>)>& judge);

/// The finding for a file that is not whole.
Finding broken_file(std::string_view kind, const FileLook& look, const std::string& why);

}  // namespace lastref::harness::oracle
