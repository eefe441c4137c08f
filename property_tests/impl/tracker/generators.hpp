// gens: arbitrary names, resources and messages of the tracker.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include <lastref/resource.hpp>

#include "impl/tracker/codec.hpp"

namespace lastref {

std::ostream& operator<<(std::ostream& out, const Resource& resource);

}  // namespace lastref

namespace lastref::tracker {

std::ostream& operator<<(std::ostream& out, const MessageEntry& entry);
std::ostream& operator<<(std::ostream& out, const Message& message);

}  // namespace lastref::tracker

namespace lastref::pretend {

/// Any bytes but NUL; mostly short, sometimes of the maximal length. Line breaks, colons and bytes
/// that are no text are frequent.
rc::Gen<std::string> any_name(std::size_t size_max = name_size_max);
rc::Gen<Resource> any_resource();
rc::Gen<tracker::MessageEntry> any_entry();
/// Of any verb, with any flags and at most `entries_max` entries.
rc::Gen<tracker::Message> any_message(std::size_t entries_max);

}  // namespace lastref::pretend
