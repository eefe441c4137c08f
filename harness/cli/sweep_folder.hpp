// SweepFolder: the folder in which a sweep records what it does, so that another one can go on
// where it was killed, and so that the folders of several shards can be merged.
//
//   list            each fault of each program, before the first one is tried:
//                     {"lastref sweep":1}
//                     {"story":"backup","folder":"/srv/","planned":true,"run":["run","--","ls"]}
//                     "root/openat(/tmp/a)#1 fail_once ENOSPC"
//   outcomes        appended, and locked by the sweep that uses the folder:
//                     {"shard":"2/4","source":"lastref.toml","known":[],"lines":[3]}
//                       a sweep begins; in this file, each story has a line
//                     {"story":1,"cell":1,"result":"tried","seconds":0.02}    a fault was tried
//                     {"story":1,"cell":1,"claim":"no-leak: ...","seen":"...","times":5,"runs":5}
//                     {"story":1,"claim":"...","seen":"..."}    a run without faults shows it, too
//   logs/1-1.log    what the program printed, and the report, if cell 1 of story 1 has a finding
//
// Each line is JSON, with bytes as bytes_in_json has them. Stories and cells are counted from 1, in
// the order of the list. Everything that decides what a run does is in the list, except for a time
// limit that was measured: two sweeps belong together if their lists are equal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

#include "harness/cli/suite.hpp"
#include "harness/platform/appended_file.hpp"
#include "harness/report/sweep_results.hpp"

namespace lastref::harness {

/// Of a sweep; it may differ in the sweep that goes on, but for the shard.
struct SweepSession {
  std::string shard = {};   ///< "2/4"; empty: all
  std::string source = {};  ///< The file of the suite
  std::vector<KnownFinding> known = {};
};

struct RecordedSweep {
  std::string list;  ///< The text of the file
  std::vector<SweptProgram> programs = {};
  SweepSession session = {};  ///< The last one
};

/// Reads what a sweep has recorded; a last line without its end was cut by a kill, and is left out.
/// The sweep may be running.
///
/// Errors          the file, the line, and what is wrong there.
Result<RecordedSweep> read_sweep(const std::string& folder);

/// The sweep of the folder of --costs; without that option an empty one.
Result<RecordedSweep> sweep_before(const RunVerbOptions& options);

/// The seconds that each of the faults took there, if that sweep has a program with this name; of a
/// fault that was not tried, those of a usual one.
std::vector<double> costs_of(const SweptProgram& program, const RecordedSweep& recorded);

/// Two lists that differ, given with the folders that have them: "one/list:3: it has A, but two has
/// B".
std::string difference_of_lists(const std::string& folder,
                                std::string_view list,
                                const std::string& other_folder,
                                std::string_view other_list);

/// Errors are sentences for the user, and name the folder or the file.
class SweepFolder {
 public:
  /// None: nothing is recorded.
  SweepFolder() = default;

  /// Makes the folder of `output`, or takes that of `resume`, and locks it; none if both are empty.
  ///
  /// Errors          device_or_resource_busy: another process uses it;
  ///                 invalid_argument: it has something else.
  static Result<SweepFolder> open(const RunVerbOptions& options);

  /// Writes the list. In a folder that has one it must be equal; then the programs get the
  /// recorded outcomes.
  Status begin(const std::vector<SweptProgram*>& programs, const SweepSession& session);

  /// @param said  what the run printed; kept if there is a finding
  Status add(std::size_t program,
             std::size_t cell,
             const CellOutcome& outcome,
             std::string_view said);
  Status add(std::size_t program, const Confirmation& confirmation);
  /// @param shown  by a run without faults
  Status add(std::size_t program, const ShownFinding& shown);

  /// A line for the report of a sweep that was interrupted; empty: it is not recorded.
  std::string how_to_continue() const;

 private:
  Status go_on(const std::string& list,
               const std::vector<SweptProgram*>& programs,
               const SweepSession& session);
  Status append(const std::string& line);

  std::string path_;  ///< Empty: none
  AppendedFile outcomes_;
};

}  // namespace lastref::harness
