// Operations that send arrays through a file.
#include <unistd.h>

#include <optional>

#include <lastref/reducers.hpp>
#include <lastref/tracker_client.hpp>

#include "bench/counted/mark.hpp"
#include "bench/counted/operations.hpp"
#include "bench/other_process.hpp"

namespace lastref::bench {
namespace {

constexpr std::size_t array_size = 1'000'000;  // bytes
constexpr std::uint64_t limit = 1000;          // bytes

Array new_array() {
  return must(Array::zeros(must(DType::parse("|u1")), {array_size}));
}

struct Sender {
  explicit Sender(const Place& place)
      : client(tracker::Client::lead(place.os)),
        references(references_of(client)),
        resources(must(TemporaryResources::make(place.os, references))),
        reducer(place.os, references, resources, {.max_nbytes = limit}) {}

  std::shared_ptr<tracker::Client> client;
  std::shared_ptr<References> references;
  std::shared_ptr<TemporaryResources> resources;
  ForwardReducer reducer;
};

void reduce_new(const Place& place) {
  Sender sender(place);
  for (int round = 0; round < rounds; ++round) {
    const Array array = new_array();
    std::optional<Sent> sent;
    {
      const Marked marked;
      sent = must(sender.reducer.reduce(array));
    }
    sent.reset();
    must(sender.reducer.invalidate(array));
  }
}

void reduce_known(const Place& place) {
  Sender sender(place);
  const Array array = new_array();
  const Sent first = must(sender.reducer.reduce(array));
  for (int round = 0; round < rounds; ++round) {
    std::optional<Sent> sent;
    const Marked marked;
    sent = must(sender.reducer.reduce(array));
  }
}

void arrive(const Place& place) {
  Sender sender(place);
  const Array array = new_array();
  const Sent first = must(sender.reducer.reduce(array));
  for (int round = 0; round < rounds; ++round) {
    Sent sent = must(sender.reducer.reduce(array));
    const Marked marked;
    must(sent.arrived());
  }
}

/// The receiver marks the operation.
void send(const Place& place, const char* what) {
  Sender sender(place);
  const Array array = new_array();
  const Sent sent = must(sender.reducer.reduce(array));
  OtherMember other(must(sender.client->tree()));
  other.hold(what);
  for (int round = 0; round < rounds; ++round) {
    other.send(must(encode_reduction(sent.reduction)));
  }
}

constexpr const char* loading = "load";
constexpr const char* unloading = "unload";

void load(const Place& place) {
  send(place, loading);
}

void unload(const Place& place) {
  send(place, unloading);
}

constexpr Operation all[] = {
    {"reduce_new", "an array of 1 MB is written into a file, to be sent", reduce_new},
    {"reduce_known", "it is sent again", reduce_known},
    {"arrived", "the sender is notified that it has arrived", arrive},
    {"load", "another process maps what was sent", load},
    {"unload", "and lets go of it", unload},
};

}  // namespace

std::span<const Operation> operations_on_arrays() {
  return all;
}

int receive_counted(os::Os& os, const std::string& tree) {
  const std::shared_ptr<tracker::Client> client = must(tracker::Client::join(os, tree));
  Receiver receiver(os, references_of(client));
  std::string what;
  while (const auto message = read_message(STDIN_FILENO)) {
    const os::Bytes body = os::Bytes(*message).subspan(1);
    if (what.empty()) {
      what.assign(reinterpret_cast<const char*>(body.data()), body.size());
    } else {
      const Reduction reduction = must(decode_reduction(body));
      std::optional<Array> array;
      if (what == loading) {
        const Marked marked;
        array = must(receiver.rebuild(reduction));
      } else {
        array = must(receiver.rebuild(reduction));
        const Marked marked;
        array.reset();
      }
    }
    write_message(STDOUT_FILENO, {});
  }
  return 0;
}

}  // namespace lastref::bench
