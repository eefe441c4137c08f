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
            .differs = unheard,
            .is_quiet_judged = false},
    Ambient{.name = ambient::full_stderr,
            .sentence = "standard error is a full pipe that nobody reads",
            .differs = unheard,
            .is_quiet_judged = false},
    Ambient{.name = ambient::elsewhere, .sentence = "another working folder"},
    Ambient{.name = ambient::second_tree,
            .sentence = "after its first word the root leads a second tree besides",
            .differs = "no-leak: what is of a second tree when its root dies before its tracker is "
                       "there stays until the next start",
            .leaves_to_the_next_start = true},
    Ambient{.name = ambient::stranger,
            .sentence = "a forked stranger holds copies of all that is open after the first word"},
    Ambient{.name = ambient::deaf,
            .sentence = "SIGHUP and SIGCHLD are ignored",
            .differs = "quiet: how a child has ended, the kernel tells nobody; without a scenario "
                       "that has to know when a pid is free again",
            .is_quiet_judged = false,
            .without = "sweep/a_pid_is_reused"},
    Ambient{.name = ambient::open_umask, .sentence = "umask 0"},
    Ambient{.name = ambient::closed_umask,
            .sentence = "umask 0777",
            .differs =
                "without scenarios in which modes bind root, who then cannot open again what "
                "such a umask has closed",
            .without = "storage/shared_memory_"},
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
