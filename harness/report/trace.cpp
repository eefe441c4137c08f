#include "harness/report/trace.hpp"

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/report/bytes_in_json.hpp"
#include "harness/report/json_members.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

/// A number of the timeline; 0: it has none.
double number_of(const Json& row, const char* name) {
  const Json& number = member_of(row, name);
  return number.is_number() ? number.get<double>() : 0;
}

/// The format is "Trace Event Format" of the Chromium project.
class Trace {
 public:
  explicit Trace(const Json& fields) : fields_(fields) {}

  Json events() {
    double last = 0;
    for (const Json& row : list_of(fields_, "timeline")) {
      name(row);
      end_slices(row);
      add(row);
      last = time_of(row);
    }
    for (const auto& [thread, at] : open_) {
      end_slice(at, last);
    }
    return std::move(events_);
  }

 private:
  /// Of a process and its thread
  using Thread = std::pair<double, double>;

  static Thread thread_of(const Json& row) {
    return {number_of(row, "process"), number_of(row, "thread")};
  }

  /// In microseconds
  static double time_of(const Json& row) { return std::round(number_of(row, "seconds") * 1e6); }

  static Json event(const Json& row, std::string_view phase, std::string_view name) {
    return {{"name", name},
            {"ph", phase},
            {"ts", time_of(row)},
            {"pid", member_of(row, "process")},
            {"tid", member_of(row, "thread")}};
  }

  /// A viewer shows these names instead of numbers.
  void name(const Json& row) {
    if (!named_.insert(number_of(row, "process")).second) {
      return;
    }
    std::string title = text_of(row, "role");
    for (const Json& each : list_of(fields_, "processes")) {
      if (text_of(each, "role") == text_of(row, "role")) {
        title += fmt::format(" ({})", text_of(each, "title"));
      }
    }
    Json made = event(row, "M", "process_name");
    made["args"]["name"] = title;
    events_.push_back(std::move(made));
  }

  void end_slice(std::size_t at, double time) {
    events_[at]["dur"] = time - events_[at]["ts"].get<double>();
  }

  /// Those that end where the row is
  void end_slices(const Json& row) {
    const bool is_end = text_of(row, "kind") == "end";
    std::erase_if(open_, [&](const auto& each) {
      const bool ends =
          is_end ? each.first.first == number_of(row, "process") : each.first == thread_of(row);
      if (ends) {
        end_slice(each.second, time_of(row));
      }
      return ends;
    });
  }

  void add(const Json& row) {
    const std::string kind = text_of(row, "kind");
    const std::string mark = text_of(row, "mark");
    const bool is_slice = kind == "call" || kind == "lock";
    Json made = event(row, is_slice ? "X" : "i", text_of(row, "text"));
    made["cat"] = kind == "end" ? "death" : kind;
    if (is_slice) {
      open_[thread_of(row)] = events_.size();
    } else {
      made["s"] = "p";  // The whole process
    }
    if (!mark.empty()) {
      made["args"]["mark"] = mark;
    }
    events_.push_back(std::move(made));
    if (is_slice && !mark.empty()) {
      Json marked = event(row, "i", mark);
      marked["cat"] = mark.substr(0, mark.find(':'));
      marked["s"] = "p";
      events_.push_back(std::move(marked));
    }
  }

  const Json& fields_;
  Json events_ = Json::array();
  std::map<Thread, std::size_t> open_;  ///< Slices without an end, by their indices in events_
  std::set<double> named_;              ///< Processes
};

}  // namespace

std::string to_trace(const Report& report) {
  Json trace = {{"traceEvents", Json::array()}, {"displayTimeUnit", "ms"}};
  if (report.fields != nullptr) {
    trace["traceEvents"] = Trace(*report.fields).events();
  }
  write_bytes_as_text(trace);
  return trace.dump(1) + "\n";
}

}  // namespace lastref::harness
