#include <map>
#include <optional>
#include <set>
#include <string>

#include <lastref/cache.hpp>

#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

using Texts = Cache<std::string, std::string>;

constexpr Parameter<std::uint64_t> limit = {
    .name = "limit", .usual = 0, .values = {0, 400, 1000}, .unit = "bytes"};

const std::string folder_name = "keyed";
constexpr int keys = 4;
constexpr std::size_t size = 100;  // bytes of a value, at least

std::string key_of(int number) {
  return "key " + std::to_string(number);
}

/// A value of which every part names its writer.
std::string text_by(const std::string& writer) {
  std::string text;
  while (text.size() < size) {
    text += writer + ' ';
  }
  return text;
}

Result<Texts> open(Stage& stage, std::uint64_t size_limit = 0) {
  std::optional<Texts> opened;
  LASTREF_CHECK(stage.product().operation("open a cache", [&]() -> Status {
    LASTREF_TRY(cache,
                Texts::open(stage.os(),
                            stage.folder() + '/' + folder_name,
                            {.size_limit = size_limit, .is_durable = stage.value(durable)}));
    opened = std::move(cache);
    return ok();
  }));
  return *std::move(opened);
}

/// Whatever has failed, a value that is returned is that of one writer.
void check_whole(Stage& stage, std::string_view value) {
  const std::string text(value);
  const std::string writer = text.substr(0, text.find(' '));
  if (text != text_by(writer)) {
    stage.refute("L14: a value that is returned is whole", "one of " + writer + " is not");
  }
}

Result<std::string> request(Stage& stage, Texts& cache, const std::string& key) {
  std::string seen;
  LASTREF_CHECK(stage.product().operation("get or compute", [&]() -> Status {
    LASTREF_TRY(view, cache.get_or_compute(key, [&] { return text_by(stage.role()); }));
    check_whole(stage, view);
    seen = view;
    return ok();
  }));
  return seen;
}

/// Sends the start of the value, which names its writer.
Status request_one(Stage& stage) {
  LASTREF_TRY(cache, open(stage));
  LASTREF_TRY(value, request(stage, cache, key_of(0)));
  stage.send(stage.role() + " has", value.substr(0, value.find(' ')));
  return ok();
}

Status requester(Stage& stage) {
  const Status requested = request_one(stage);
  stage.tell(stage.role() + " is done");
  return requested;
}

Status root_of_requesters(Stage& stage) {
  LASTREF_CHECK(stage.start("worker_1"));
  LASTREF_CHECK(stage.start("worker_2"));
  const Status requested = request_one(stage);
  stage.await("worker_1 is done");
  stage.await("worker_2 is done");
  std::set<std::string> writers;
  for (const char* const role : {"root", "worker_1", "worker_2"}) {
    if (const auto writer = stage.receive(std::string(role) + " has")) {
      writers.insert(*writer);
    }
  }
  if (writers.size() > 1) {
    stage.refute("L12: one computation has the value of a key for all processes",
                 "the values of " + std::to_string(writers.size()) + " processes were returned");
  }
  must_be(stage, "L12: the value of a key is computed", writers.size() == 1, "there is none");
  return requested;
}

Status writer(Stage& stage) {
  const auto write = [&]() -> Status {
    LASTREF_TRY(cache, open(stage, stage.value(limit)));
    stage.tell("writer stores");
    for (int number = 0; number < keys; ++number) {
      LASTREF_CHECK(request(stage, cache, key_of(number)));
    }
    return ok();
  };
  const Status written = write();
  stage.tell("writer stores");
  stage.stay_until_killed();
  return written;
}

Status root_that_kills_writer(Stage& stage) {
  LASTREF_CHECK(stage.start("writer"));
  stage.await("writer stores");
  stage.kill("writer");
  LASTREF_TRY(cache, open(stage, stage.value(limit)));
  std::size_t visited = 0;
  for (const auto& [key, value] : cache) {
    check_whole(stage, value);
    ++visited;
  }
  must_be(stage,
          "L14: the entries of a killed process are counted",
          cache.size() == visited,
          std::to_string(cache.size()) + " of " + std::to_string(visited));
  const std::size_t files = stage.outside().list(stage.folder() + '/' + folder_name).size();
  must_be(stage,
          "L14: a cache that is opened has no file of a killed writer",
          files == visited + 1,
          std::to_string(files) + " files for " + std::to_string(visited) + " entries");
  for (int number = 0; number < keys; ++number) {
    LASTREF_CHECK(request(stage, cache, key_of(number)));
  }
  must_be(stage,
          "L13: a cache keeps its limit",
          stage.value(limit) == 0 || cache.size_bytes() <= stage.value(limit),
          std::to_string(cache.size_bytes()) + " bytes");
  return ok();
}

const RegisteredScenario keyed_value_is_computed_once([] {
  return Scenario{
      .name = "caches/keyed_value_is_computed_once",
      .sentence =
          "Three processes request the value of a key, and each could compute it. Whichever of "
          "them dies, all others get the same whole value.",
      .rows = {"L11", "L12"},
      .roles = {{"root", root_of_requesters}, {"worker_1", requester}, {"worker_2", requester}},
      .parameters = {durable},
      .stays = {"folder:" + folder_name},
  };
});

const RegisteredScenario keyed_cache_survives_kill([] {
  return Scenario{
      .name = "caches/keyed_cache_survives_kill",
      .sentence =
          "A process is killed while it stores values. The next process that opens the cache finds "
          "whole values, their number, and no other file.",
      .rows = {"L13", "L14"},
      .roles = {{"root", root_that_kills_writer}, {"writer", writer}},
      .parameters = {limit, durable},
      .stays = {"folder:" + folder_name},
  };
});

}  // namespace
}  // namespace lastref::harness
