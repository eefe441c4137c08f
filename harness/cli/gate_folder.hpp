// gate_folder: the folder of `gate --output`. At its end the gate writes one file there, "gate",
// which has all results.
#pragma once

#include <string>

#include <lastref/error.hpp>

#include "harness/explore/gate_part.hpp"

namespace lastref::harness {

/// Makes the folder, or takes an empty one.
///
/// Errors          those of the file system; invalid_argument: it is not empty.
Status make_gate_folder(const std::string& folder);

/// Errors          those of the file system
Status write_gate(const std::string& folder, const GatePart& part);

bool has_gate(const std::string& folder);
/// Errors          those of read_whole and parse_gate_part, with the path of the file.
Result<GatePart> read_gate(const std::string& folder);

}  // namespace lastref::harness
