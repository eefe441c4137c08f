#include "harness/scenario/ambient.hpp"

#include <algorithm>
#include <array>

namespace lastref::harness {
namespace {

constexpr std::string_view unheard = "quiet: nobody can read what is said, so nobody looks for it";

constexpr std::array table = {
    Ambient{.name = ambient::executed, .sentence = "real, executed processes"},
    Ambient{.name = ambient::closed,
            .sentence = "descriptors 0, 1 and 2 are closed at the start",
            .not_yet = "E1: the product's descriptors take their numbers",
            .differs = unheard,
            .is_quiet_judged = false},
    Ambient{.name = ambient::full_stderr,
            .sentence = "standard error is a full pipe that nobody reads",
            .not_yet = "E5: clean-up waits for a reader",
            .differs = unheard,
            .is_quiet_judged = false},
    Ambient{.name = ambient::elsewhere, .sentence = "another working folder"},
    Ambient{.name = ambient::second_tree,
            .sentence = "after its first word the root leads a second tree besides",
            .not_yet = "E3: a tree drops the locks of another in the same process",
            .differs = "no-leak: what is of a second tree when its root dies before its tracker is "
                       "there stays until the next start",
            .leaves_to_the_next_start = true},
    Ambient{.name = ambient::stranger,
            .sentence = "a forked stranger holds copies of all that is open after the first word"},
    Ambient{
        .name = ambient::deaf,
        .sentence = "SIGHUP and SIGCHLD are ignored",
        .not_yet = "E7: the death of a worker whose parent cannot wait for it is not told as one",
        .differs = "quiet: how a child has ended, the kernel tells nobody; without a scenario "
                   "that has to know when a pid is free again",
        .is_quiet_judged = false,
        .without = "sweep/a_pid_is_reused"},
    Ambient{.name = ambient::open_umask, .sentence = "umask 0"},
    Ambient{.name = ambient::closed_umask,
            .sentence = "umask 0777",
            .not_yet = "R13: who is bound by modes cannot open again what such a umask has closed"},
    Ambient{.name = ambient::small_limits, .sentence = "a soft limit of 64 descriptors"},
    Ambient{.name = ambient::ordinary_user,
            .sentence = "a user who is not root",
            .differs = "without a scenario in which only root's tracker can clean up",
            .without = "storage/shared_memory_becomes_forbidden"},
    Ambient{.name = ambient::root, .sentence = "root, in whose world permission bits bind nobody"},
};

}  // namespace

std::span<const Ambient> ambients() noexcept {
  return table;
}

const Ambient* ambient_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(table, name, &Ambient::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace lastref::harness
