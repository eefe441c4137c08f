// Operations on names that a tracker counts, and on its tree.
#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include <lastref/tracker_client.hpp>

#include "bench/counted/mark.hpp"
#include "bench/counted/operations.hpp"
#include "bench/other_process.hpp"

namespace lastref::bench {
namespace {

using Client = std::unique_ptr<tracker::Client>;

/// A client that leads a tree with a running tracker.
Client leader(const Place& place) {
  Client client = tracker::Client::lead(place.os);
  static_cast<void>(must(client->tree()));
  return client;
}

/// The name always has the same length, because the bytes of messages are counted.
Resource name_of(const Place& place, int round) {
  return {ResourceType::file, place.folder + "/name-" + std::to_string(100 + round)};
}

void make_file(const std::string& path) {
  ::close(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
}

void start_trees(const Place& place) {
  for (int round = 0; round < rounds; ++round) {
    Client client;
    const Marked marked;
    client = leader(place);
  }
}

void end_trees(const Place& place) {
  for (int round = 0; round < rounds; ++round) {
    Client client = leader(place);
    const Marked marked;
    client.reset();
  }
}

void register_names(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    const Resource name = name_of(place, round);
    const Marked marked;
    must(client->register_name(name));
  }
  for (int round = 0; round < rounds; ++round) {
    must(client->release(name_of(place, round)));
  }
}

/// Registers names that are released before the next round, so that their ledger entries are free.
template <int count>
void register_in_places(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    {
      const Marked marked;
      for (int number = 0; number < count; ++number) {
        must(client->register_name(name_of(place, number)));
      }
    }
    for (int number = 0; number < count; ++number) {
      must(client->release(name_of(place, number)));
    }
  }
}

void hold_names(const Place& place) {
  const Client client = leader(place);
  const Resource name = name_of(place, 0);
  must(client->register_name(name));
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    must(client->hold(name));
  }
  for (int round = 0; round <= rounds; ++round) {
    must(client->release(name));
  }
}

void release_names(const Place& place) {
  const Client client = leader(place);
  const Resource name = name_of(place, 0);
  must(client->register_name(name));
  for (int round = 0; round < rounds; ++round) {
    must(client->hold(name));
  }
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    must(client->release(name));
  }
  must(client->release(name));
}

/// Releases the last reference of a name, until its file is removed and the ledger records that.
void clean_up_names(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    const Resource name = name_of(place, round);
    must(client->register_name(name));
    make_file(name.name);
    {
      const Marked marked;
      must(client->release(name));
    }
    if (::access(name.name.c_str(), F_OK) == 0) {
      give_up("a file without references still exists");
    }
  }
}

void forget_names(const Place& place) {
  const Client client = leader(place);
  for (int round = 0; round < rounds; ++round) {
    const Resource name = name_of(place, round);
    must(client->register_name(name));
    const Marked marked;
    must(client->forget(name));
  }
}

constexpr std::string_view as_mapped = "how many pages are mapped with one is the kernel's choice";

constexpr Operation all[] = {
    {"tree_start", "a tree starts, with its tracker", start_trees, as_mapped},
    {"tree_end", "the last process leaves, and the tree is removed", end_trees, as_mapped},
    {"tree_end_6.15",
     "the same, where Linux reports how the tracker ended",
     end_trees,
     as_mapped,
     /*tells_ends=*/true},
    {"register",
     "a new name is counted",
     register_names,
     "names that stay take a page of the tracker's heap now and then"},
    {"register_again", "a name takes the place of one that has ended", register_in_places<1>},
    {"register_100", "as many do, one after the other", register_in_places<100>},
    {"hold", "a reference is taken to a name that is known", hold_names},
    {"release", "a reference is released, and it is not the last", release_names},
    {"clean_up",
     "the last reference to a file is released, and the file is removed",
     clean_up_names},
    {"forget", "a name is forgotten, and its file stays", forget_names},
};

}  // namespace

std::span<const Operation> operations_on_names() {
  return all;
}

}  // namespace lastref::bench
