// whole: live and preserved caches. The operations "put" and "put a lost value", which begin with
// "<cache> <slot> <hash of the value>", show which values were put.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/oracle/file_readers.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/whole_files.hpp"

namespace lastref::harness::oracle {
namespace {

/// "<slot> <hash>" of all values that were ever put.
using Puts = std::set<std::string, std::less<>>;

Puts puts_of(const Evidence& evidence) {
  Puts puts;
  for (const Record& record : evidence.notable()) {
    const bool is_put = record.name == "put" || record.name == "put a lost value";
    if (record.kind == RecordKind::operation_begin && is_put) {
      const std::string_view asked = record.text.view();
      puts.emplace(asked.substr(std::min(asked.find(' ') + 1, asked.size())));
    }
  }
  return puts;
}

/// The first slot with a value that was never put there.
std::optional<std::string> stranger_in(const std::vector<StoredValue>& values, const Puts& puts) {
  const auto found = std::ranges::find_if(values, [&](const StoredValue& each) {
    return !puts.contains(std::to_string(each.slot) + ' ' + std::to_string(hash_of(each.bytes)));
  });
  return found == values.end() ? std::nullopt
                               : std::optional("slot " + std::to_string(found->slot) +
                                               " has a value that no put stored");
}

/// The pid at the start of the name of a live cache.
std::optional<os::Pid> maker_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  os::Pid pid = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return wrong == std::errc{} ? std::optional(pid) : std::nullopt;
}

/// Whether a process of that pid made all caches that it began to make. Until then its file is not
/// checked.
bool has_made_all(os::Pid pid, std::span<const Record> records) {
  std::map<std::uint16_t, os::Pid> pids;
  int under_way = 0;
  bool has_failed = false;
  for (const Record& record : records) {
    if (is_fact(record, fact::born)) {
      pids[record.process] = static_cast<os::Pid>(record.value);
    } else if (record.name == "make a cache" && pids[record.process] == pid) {
      under_way += record.kind == RecordKind::operation_begin ? 1 : -1;
      has_failed = has_failed || record.error != 0;
    }
  }
  return under_way == 0 && !has_failed;
}

/// Whether a fault made a check report that the file does not exist. A cache of one process, which
/// needs no name for its file, may then have left the name of an empty one.
bool was_denied(std::string_view path, std::span<const Record> records) {
  return std::ranges::any_of(records, [name = journal_text(path)](const Record& record) {
    return record.call == Call::status_at && record.injected && record.error == ENOENT &&
           record.text == name;
  });
}

bool is_live_cache(std::string_view path) {
  return path.ends_with(".cache") && maker_of(path);
}

/// An entry of a cache of values by key. The scenarios check these when they read them.
bool is_entry(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Any other file that was renamed is a preserved cache: see for_each_file.
bool is_preserved(std::string_view path, std::span<const Record> before) {
  return std::ranges::any_of(before, [name = journal_text(path)](const Record& record) {
    return gave_name(record) && record.text == name;
  });
}

/// The files of live caches, as soon as they are complete: each slot has a value that was put
/// there.
Judgement live_caches_are_whole(const Evidence& evidence) {
  Judgement judgement;
  const Puts puts = puts_of(evidence);
  const auto judge = [&](const FileLook& look, std::span<const Record> before) {
    ++judgement.look.seen;
    const ReadFile<LiveCache> cache = read_live_cache(look.bytes);
    if (!cache) {
      if (has_made_all(*maker_of(look.path), before) && !was_denied(look.path, before)) {
        judgement.findings.push_back(broken_file("a live cache", look, cache.error()));
      }
      return;
    }
    judgement.look.filled += cache->values.empty() ? 0U : 1U;
    if (const auto stranger = stranger_in(cache->values, puts)) {
      judgement.findings.push_back(broken_file("a live cache", look, *stranger));
    }
  };
  for_each_file(evidence, is_live_cache, judge);
  return judgement;
}

/// The same for preserved caches.
Judgement preserved_caches_are_whole(const Evidence& evidence) {
  Judgement judgement;
  const Puts puts = puts_of(evidence);
  const auto is_possible = [](std::string_view path) {
    return !path.ends_with(".npy") && !is_entry(path);
  };
  const auto judge = [&](const FileLook& look, std::span<const Record> before) {
    if (!is_preserved(look.path, before)) {
      return;
    }
    ++judgement.look.seen;
    const ReadFile<std::vector<StoredValue>> values = read_preserved_cache(look.bytes);
    if (!values) {
      judgement.findings.push_back(broken_file("a preserved cache", look, values.error()));
      return;
    }
    judgement.look.filled += values->empty() ? 0U : 1U;
    if (const auto stranger = stranger_in(*values, puts)) {
      judgement.findings.push_back(broken_file("a preserved cache", look, *stranger));
    }
  };
  for_each_file(evidence, is_possible, judge);
  return judgement;
}

const RegisteredOracle registered_live_caches_are_whole("whole: live caches",
                                                        Concern::contents,
                                                        live_caches_are_whole);
const RegisteredOracle registered_preserved_caches_are_whole("whole: preserved caches",
                                                             Concern::contents,
                                                             preserved_caches_are_whole);

}  // namespace
}  // namespace lastref::harness::oracle
