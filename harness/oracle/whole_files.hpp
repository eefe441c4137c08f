// whole_files: the looks at files of one kind, one after the other, and what the journal knew when
// each was taken.
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

/// Calls `judge` with each look at a file of that kind, and the records that came before it. Files
/// that an outside party wrote, and nobody since, are left out.
void for_each_file(const Evidence& evidence,
                   const std::function<bool(std::string_view path)>& is_kind,
                   const std::function<void(const FileLook&, std::span<const Record>)>& judge);

/// Of what is not whole.
Finding broken_file(std::string_view kind, const FileLook& look, const std::string& why);

}  // namespace lastref::harness::oracle
