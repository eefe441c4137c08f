#include <string>
#include <utility>
#include <vector>

#include <lastref/reducers.hpp>
#include <lastref/tracker.hpp>

#include "bench/growth_kinds.hpp"

namespace lastref::bench {
namespace {

constexpr std::size_t array_size = 4096;  // bytes; beyond `limit`, so that it is mapped
constexpr std::uint64_t limit = 1000;     // bytes

Array new_array() {
  return must(Array::zeros(must(DType::parse("|u1")), {array_size}));
}

Resource nth_file(const Site& site, std::uint64_t number) {
  return {ResourceType::file, site.folder + "/" + std::to_string(number)};
}

void names(const Site& site, Calls& calls) {
  Led led(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(led.client->register_name(nth_file(site, call)));
    must(led.client->release(nth_file(site, call)));
  }
}

void identified_names(const Site& site, Calls& calls) {
  Led led(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(led.client->register_name(nth_file(site, call)));
    must(led.client->identify(nth_file(site, call),
                              Identity{.device = 1, .inode = call + 1, .born = 1}));
    must(led.client->forget(nth_file(site, call)));
  }
}

void holds(const Site& site, Calls& calls) {
  Led led(site);
  const Resource name = nth_file(site, 0);
  must(led.client->register_name(name));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(led.client->hold(name));
    must(led.client->release(name));
  }
  must(led.client->release(name));
}

/// Uses a new name each time, which the other member holds when `end` is called.
template <typename End>
void handed_over(const Site& site, Calls& calls, End end) {
  Led led(site);
  OtherMember other(led.tree);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const Resource name = nth_file(site, call);
    must(led.client->register_name(name));
    other.hold(name.name);
    must(end(*led.client, name));
    other.release(name.name);
  }
}

void hand_overs(const Site& site, Calls& calls) {
  handed_over(site, calls, [](auto& client, const Resource& name) { return client.release(name); });
}

void forgets(const Site& site, Calls& calls) {
  handed_over(site, calls, [](auto& client, const Resource& name) { return client.forget(name); });
}

void members(const Site& site, Calls& calls) {
  Led led(site);
  must(led.client->register_name(nth_file(site, 0)));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    OtherMember other(led.tree);
    other.hold(nth_file(site, 0).name);
  }
  must(led.client->release(nth_file(site, 0)));
}

/// A sender of arrays, with its files in contexts.
struct Sender : Led {
  explicit Sender(const Site& site)
      : Led(site),
        references(references_of(client)),
        resources(must(TemporaryResources::make(site.os, references))),
        reducer(site.os, references, resources, {.max_nbytes = limit}),
        other(tree) {}

  void send(const Array& array) {
    Sent sent = must(reducer.reduce(array));
    other.send(must(encode(sent.reduction)));
    must(sent.arrived());
  }

  std::shared_ptr<References> references;
  std::shared_ptr<TemporaryResources> resources;
  ForwardReducer reducer;
  OtherMember other;
};

void contexts(const Site& site, Calls& calls) {
  Sender sender(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const std::string id = "context" + std::to_string(call);
    must(sender.resources->set_current_context(id));
    must(sender.resources->clean_temporary_resources(id));
  }
}

void contexts_with_files(const Site& site, Calls& calls) {
  Sender sender(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    const std::string id = "context" + std::to_string(call);
    must(sender.resources->set_current_context(id));
    sender.send(new_array());
    must(sender.resources->clean_temporary_resources(id));
    must(sender.reducer.release_gone());
  }
}

void arrays(const Site& site, Calls& calls) {
  Sender sender(site);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    sender.send(new_array());
    must(sender.reducer.release_gone());
  }
}

void arrays_again(const Site& site, Calls& calls) {
  Sender sender(site);
  const Array array = new_array();
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    sender.send(array);
  }
}

void arrays_anew(const Site& site, Calls& calls) {
  Sender sender(site);
  const Array array = new_array();
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    sender.send(array);
    must(sender.reducer.invalidate(array));
  }
}
void counts(const Site& site, Calls& calls) {
  Led led(site);
  must(led.client->register_name(nth_file(site, 0)));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    static_cast<void>(must(led.client->counts()));
  }
  must(led.client->release(nth_file(site, 0)));
}

void trees(const Site& site, Calls& calls) {
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    Led led(site);
    must(led.client->probe());
  }
}

/// Sweeps, as every start does.
void sweeps(const Site& site, Calls& calls) {
  Led led(site);
  const std::string runtime = led.tree.substr(0, led.tree.rfind('/'));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    static_cast<void>(must(tracker::sweep(site.os, runtime)));
  }
}

constexpr Kind all[] = {
    {"names", "register and release of a new name", unlimited, true, names},
    {"forgotten_names",
     "register, identify and forget of a new name",
     unlimited,
     true,
     identified_names},
    {"holds", "hold and release of one name", unlimited, true, holds},
    {"hand_overs", "a new name handed to another process", unlimited, true, hand_overs},
    {"forgets", "a name forgotten that another process holds", unlimited, true, forgets},
    {"members", "a process that joins, holds, and ends", unlimited, false, members},
    {"contexts", "a context that opens and closes", unlimited, true, contexts},
    {"contexts_with_files", "the same with an array in it", unlimited, false, contexts_with_files},
    {"arrays", "an array reduced, sent, rebuilt, let go of", unlimited, true, arrays},
    {"arrays_again", "the same array sent again", unlimited, true, arrays_again},
    {"arrays_anew", "the same, invalidated each time", unlimited, false, arrays_anew},
    {"counts", "a question for all counts", unlimited, true, counts},
    {"sweeps", "a sweep for dead trees", unlimited, false, sweeps},
    {"trees", "a tree that starts and ends", 10'000, false, trees},
};

}  // namespace

std::span<const Kind> kinds_of_names() {
  return all;
}

}  // namespace lastref::bench
