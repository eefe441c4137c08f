// trees: parameters of scenarios about names in a tree: which role starts the tree, and what is
// named.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/platform/named_enum.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

LASTREF_NAMED_ENUM(TreeStarter, (root, "root"), (leader, "leader"));

/// Which role starts the tree. A scenario with this parameter has a role leader.
inline constexpr Parameter<TreeStarter> tree_starter = {.name = "starts_tree",
                                                        .usual = TreeStarter::root};

/// For the root: leads the tree, or starts the leader and joins its tree.
///
/// Errors          those of lead, start and join; no_message_available: the leader has failed.
[[nodiscard]] Status enter_tree(Stage& stage);

/// The leader: leads the tree, and stays until no other process can continue.
Status lead_tree(Stage& stage);

LASTREF_NAMED_ENUM(
    NameType, (file, "file"), (folder, "folder"), (semaphore, "semaphore"), (shared_memory, "shm"));

inline constexpr Parameter<NameType> name_type = {.name = "type", .usual = NameType::file};

/// A resource of the type that the run has.
Resource resource_of(Stage& stage, const std::string& name);

inline constexpr Parameter<std::size_t> name_count = {
    .name = "names", .usual = 1, .values = {1, 2, 9}, .unit = "files"};

/// As many files as the run has.
std::vector<Resource> files_of(Stage& stage, const std::string& name);

/// Registers and makes each.
[[nodiscard]] Status make_all(Stage& stage, const std::vector<Resource>& resources);
[[nodiscard]] Status hold_all(Stage& stage, const std::vector<Resource>& resources);
void must_all_exist(Stage& stage, const std::vector<Resource>& resources);
/// Releases each, even if one fails.
[[nodiscard]] Status release_all(Stage& stage, const std::vector<Resource>& resources);

}  // namespace lastref::harness
