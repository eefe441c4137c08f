#include "harness/scenario/ambient.hpp"

#include <algorithm>
#include <array>

namespace lastref::harness {
namespace {

constexpr std::string_view unheard = "quiet: messages cannot be read, so none are expected";

constexpr std::string_view rows_of_closed[] = {"E1"};
constexpr std::string_view rows_of_elsewhere[] = {"E2"};
constexpr std::string_view rows_of_second_tree[] = {"E3"};
constexpr std::string_view rows_of_full_stderr[] = {"E5"};
constexpr std::string_view rows_of_deaf[] = {"E6", "E7"};
constexpr std::string_view rows_of_stranger[] = {"E8"};
constexpr std::string_view rows_of_pid_namespace[] = {"E8"};
constexpr std::string_view rows_of_umasks[] = {"R13"};
constexpr std::string_view rows_of_small_limits[] = {"E10"};

constexpr std::array table = {
    Ambient{.name = ambient::executed, .sentence = "real, executed processes"},
    Ambient{.name = ambient::closed,
            .sentence = "descriptors 0, 1 and 2 are closed at the start",
            .rows = rows_of_closed,
            .differs = unheard,
            .is_quiet_judged = false},
    Ambient{.name = ambient::full_stderr,
            .sentence = "standard error is a full pipe without a reader",
            .rows = rows_of_full_stderr,
            .differs = unheard,
            .is_quiet_judged = false},
    Ambient{.name = ambient::elsewhere,
            .sentence = "another working folder",
            .rows = rows_of_elsewhere},
    Ambient{.name = ambient::second_tree,
            .sentence = "after its first operation the root leads a second tree, too",
            .rows = rows_of_second_tree,
            .differs =
                "no-leak: if its root dies before the tracker of the second tree has started, "
                "that tree remains until the next start",
            .leaves_to_the_next_start = true},
    Ambient{
        .name = ambient::stranger,
        .sentence =
            "an unrelated forked process has copies of all that is open after the first operation",
        .rows = rows_of_stranger},
    Ambient{.name = ambient::pid_namespace,
            .sentence = "the root is process 1 of a pid namespace of its own",
            .rows = rows_of_pid_namespace,
            .differs =
                "no-leak: all other processes die with process 1, including the tracker; the "
                "leftovers remain until the next start; without the scenario in which the "
                "tracker ends last",
            .leaves_to_the_next_start = true,
            .without = "tracker/last_process_"},
    Ambient{.name = ambient::deaf,
            .sentence = "SIGHUP and SIGCHLD are ignored",
            .rows = rows_of_deaf,
            .differs =
                "quiet: the kernel does not report how a child has ended; without a scenario "
                "that has to know when a pid is free again",
            .is_quiet_judged = false,
            .without = "sweep/pid_of_dead_root_is_reused"},
    Ambient{.name = ambient::open_umask, .sentence = "umask 0", .rows = rows_of_umasks},
    Ambient{
        .name = ambient::closed_umask,
        .sentence = "umask 0777",
        .rows = rows_of_umasks,
        .differs =
            "without scenarios in which modes also bind root: root cannot reopen the files that "
            "it creates with such a umask",
        .without = "storage/shared_memory_"},
    Ambient{.name = ambient::small_limits,
            .sentence = "a soft limit of 64 descriptors",
            .rows = rows_of_small_limits},
    Ambient{.name = ambient::ordinary_user,
            .sentence = "a user who is not root",
            .differs = "without a scenario in which only root's tracker can clean up",
            .without = "storage/shared_memory_becomes_read_only"},
    Ambient{.name = ambient::root, .sentence = "root, which permission bits do not restrict"},
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
