// counters: counts what hot paths cost, and compares that with a table in the source tree.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/measured_process.hpp"
#include "bench/perf/operation_counts.hpp"
#include "bench/perf/verbs.hpp"
#include "bench/perf/whole_file.hpp"
#include "bench/shm_folder.hpp"

namespace lastref::perf {
namespace {

using harness::Exit;

struct Options {
  std::vector<std::string> operations;  ///< empty: all
  std::string check;
  std::string update;
  std::string plant;
};

bool is_asked_for(const bench::Operation& operation, const Options& options) {
  return options.operations.empty() ||
         std::ranges::find(options.operations, operation.name) != options.operations.end();
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error(path + " cannot be read");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  if (!write_whole(path, text)) {
    throw std::runtime_error(path + " cannot be written");
  }
}

/// The rows that were counted, and the operations that were left out.
struct Counted {
  std::vector<CounterRow> rows;
  std::vector<std::string> vague;
  std::vector<std::string> left_out;

  bool leaves_out(const CounterRow& row) const {
    return std::ranges::find(left_out, row.operation) != left_out.end();
  }
};

std::string counted_program() {
  const auto program = program_beside_us("lastref_counted");
  if (!program) {
    throw std::runtime_error(program.error());
  }
  return *program;
}

Counted count_all(const Options& options) {
  const Performer performer{.program = counted_program(), .plant = options.plant};
  Counted counted;
  for (const bench::Operation& operation : bench::operations()) {
    if (!is_asked_for(operation, options) || !can_be_counted_here(operation)) {
      counted.left_out.emplace_back(operation.name);
      if (is_asked_for(operation, options)) {
        fmt::print("LEFT OUT {}: this kernel does not tell how processes ended\n", operation.name);
      }
      continue;
    }
    OperationCounts counts = counts_of(operation, performer);
    std::ranges::move(counts.rows, std::back_inserter(counted.rows));
    std::ranges::move(counts.vague, std::back_inserter(counted.vague));
  }
  return counted;
}

/// The table in the order of operations; those that were left out keep their old rows.
std::string table_of(const Counted& counted, const std::vector<CounterRow>& before) {
  std::map<std::string, OperationText> texts;
  std::vector<CounterRow> rows;
  for (const bench::Operation& operation : bench::operations()) {
    const std::string name(operation.name);
    texts[name] = {.what = std::string(operation.what),
                   .counts_pages = operation.faults_vary.empty()};
    for (const auto* some : {&counted.rows, &before}) {
      std::ranges::copy_if(*some, std::back_inserter(rows), [&](const CounterRow& row) {
        return row.operation == name && (some == &counted.rows || counted.leaves_out(row));
      });
    }
  }
  return to_markdown(rows, texts);
}

Exit check(const Options& options, std::vector<CounterRow> expected, const Counted& counted) {
  std::erase_if(expected, [&](const CounterRow& row) { return counted.leaves_out(row); });
  const auto found = differences(expected, counted.rows);
  if (found.empty()) {
    fmt::print("{} rows are as in {}\n", counted.rows.size(), options.check);
    return Exit::clean;
  }
  for (const CounterDifference& each : found) {
    fmt::print("DIFFERS {}\n", to_text(each));
  }
  fmt::print("accept it, in the same commit, with: ./lastref perf counters --update {}\n",
             options.check);
  return Exit::violation;
}

void update(const std::string& page, const Counted& counted) {
  const std::string text = text_of(page);
  std::vector<CounterRow> before;
  if (!counted.left_out.empty()) {
    before = rows_in(text);
  }
  write_text(page, with_table(text, table_of(counted, before)));
}

Exit run(const Options& options) {
  bench::remove_what_killed_benches_left();
  // Read the table first: an error here should come before the counting.
  std::vector<CounterRow> expected;
  if (!options.check.empty()) {
    expected = rows_in(text_of(options.check));
  }
  const Counted counted = count_all(options);
  if (options.check.empty() && options.update.empty()) {
    fmt::print("{}", table_of(counted, {}));
  }
  for (const std::string& each : counted.vague) {
    fmt::print("NOT EXACT {}\n", each);
  }
  if (!counted.vague.empty()) {
    return Exit::not_deterministic;
  }
  if (!options.update.empty()) {
    update(options.update, counted);
  }
  return options.check.empty() ? Exit::clean : check(options, std::move(expected), counted);
}

}  // namespace

void add_counters(CLI::App& app, Chosen& chosen) {
  std::vector<std::string> names;
  for (const bench::Operation& operation : bench::operations()) {
    names.emplace_back(operation.name);
  }
  const auto options = std::make_shared<Options>();
  CLI::App* const verb = app.add_subcommand(
      "counters", "What each hot path asks of the machine: calls, messages, bytes, copies");
  verb->add_option("OPERATION", options->operations, "Only these")->check(CLI::IsMember(names));
  CLI::Option* const page =
      verb->add_option("--check", options->check, "Compare with the table in this page");
  verb->add_option("--update", options->update, "Write the table into this page")->excludes(page);
  verb->add_option("--plant", options->plant, "Slow it down, to see whether that is seen")
      ->check(CLI::IsMember({"extra_call", "extra_copy", "extra_message"}));
  verb->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace lastref::perf
