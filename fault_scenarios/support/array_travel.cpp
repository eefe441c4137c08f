#include "fault_scenarios/support/array_travel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

class StageReferences final : public References {
 public:
  explicit StageReferences(Stage& stage) noexcept : stage_(stage) {}

  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>& identity) override {
    return stage_.product().register_name(resource, identity);
  }
  Status identify(const Resource& resource, const std::optional<Identity>& identity) override {
    return stage_.product().client().identify(resource, identity);
  }
  Status hold(const Resource& resource) override { return stage_.product().hold(resource); }
  Status release(const Resource& resource) override { return stage_.product().release(resource); }
  Status forget(const Resource& resource) override { return stage_.product().forget(resource); }
  bool is_attributed() const noexcept override { return true; }

 private:
  Stage& stage_;
};

/// The hash of the bytes that a dump of the array has, for the oracle that checks its file; empty
/// where the array's memory does not hold exactly these bytes in their order.
std::string data_of(const Array& array) {
  if (!array.is_c_contiguous() && !array.is_f_contiguous()) {
    return {};
  }
  return std::to_string(hash_of({reinterpret_cast<const char*>(array.data()), array.nbytes()}));
}

std::string file_of(const Reduction& reduction) {
  if (const auto* load = std::get_if<LoadTemporaryMemmap>(&reduction)) {
    return load->filename;
  }
  const auto* map = std::get_if<StridedFromMemmap>(&reduction);
  return map == nullptr ? std::string() : map->filename;
}

}  // namespace

Array numbered(std::uint32_t factor, std::uint32_t count) {
  Array made = Array::zeros(DType::parse("<i4").value(), {count}).value();
  std::byte* const data = made.mutable_data().value();
  for (std::uint32_t index = 0; index < count; ++index) {
    const std::uint32_t element = index * factor;
    std::memcpy(data + index * sizeof element, &element, sizeof element);
  }
  return made;
}

Array few_numbered() {
  const std::vector<Slice> few{{.stop = 400}};
  return numbered().slice(few).value().copy().value();
}

Status dump(Stage& stage, const std::string& path, const Array& elements) {
  return stage.product().operation("dump", [&]() -> Status {
    LASTREF_TRY(fd, os::open_file(stage.os(), path, {.write = true, .create = true}));
    LASTREF_CHECK(write_npy(stage.os(), fd.get(), elements));
    return fd.close();
  });
}

std::int64_t folders_of_arrays(Stage& stage) {
  return std::ranges::count_if(stage.outside().list(stage.folder()), [](const std::string& name) {
    return name.starts_with("lastref_memmapping_folder_");
  });
}

void must_count_none(Stage& stage,
                     std::initializer_list<ResourceType> types,
                     const std::string& claim) {
  std::vector<tracker::Count> counts;
  may_fail(stage.product().operation("count", [&]() -> Status {
    LASTREF_TRY(all, stage.product().client().counts());
    counts = std::move(all);
    return ok();
  }));
  for (const tracker::Count& each : counts) {
    const bool is_counted =
        each.holder == stage.os().process_id() && std::ranges::count(types, each.resource.type) > 0;
    if (is_counted && stage.is_undisturbed()) {
      stage.refute(claim, to_text(each.resource) + " is counted");
    }
  }
}

void must_equal(Stage& stage, const Array& arrived, const Array& sent) {
  if (!contents_equal(arrived, sent)) {
    stage.refute("no-corruption: an array arrives as it was sent", "other elements");
  }
}

void must_be_spare(Stage& stage, const std::string& path) {
  if (stage.is_undisturbed() && !path.starts_with(stage.spare_folder() + '/')) {
    stage.refute("M1: without space on shared memory the next location is used",
                 "it is at " + path);
  }
}

void must_name_the_variable(Stage& stage, const Error& error) {
  if (stage.is_undisturbed() && error.subject.find("LASTREF_TEMP_FOLDER") == std::string::npos) {
    stage.refute("M1: the error names the variable to set", describe(error));
  }
}

void must_hold_one_file(Stage& stage, const std::string& folder) {
  const std::vector<std::string> names = stage.outside().list(folder);
  if (stage.is_undisturbed() && names.size() != 1) {
    stage.refute("R12: a failed dump leaves no file",
                 std::to_string(names.size()) + " files are in " + folder);
  }
}

std::string text_of_bytes(os::Bytes bytes) {
  std::string text(bytes.size(), '\0');
  std::ranges::transform(
      bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
  return text;
}

std::shared_ptr<References> references_of(Stage& stage) {
  return std::make_shared<StageReferences>(stage);
}

Result<Parent> Parent::make(Stage& stage,
                            TemporaryResourcesOptions options,
                            std::shared_ptr<const Receiver> receiver,
                            const ForwardOptions& arrays) {
  if (!options.context) {
    options.context = "call";
  }
  const auto references = references_of(stage);
  std::shared_ptr<TemporaryResources> resources;
  LASTREF_CHECK(stage.product().operation("make a manager", [&]() -> Status {
    LASTREF_TRY(made, TemporaryResources::make(stage.os(), references, std::move(options)));
    resources = std::move(made);
    return ok();
  }));
  auto reducer = std::make_unique<ForwardReducer>(
      stage.os(), references, resources, arrays, std::move(receiver));
  return Parent(stage, std::move(resources), std::move(reducer));
}

void must_have_reference(Stage& stage, const Sent& sent) {
  const std::string file = file_of(sent.reduction);
  if (!sent.reference && file.find("/lastref_memmapping_folder_") != std::string::npos) {
    stage.refute("T9: an array that travels by a temporary file has a reference of its own", file);
  }
}

Status Parent::send(const std::string& signal, const Array& array) {
  std::string bytes;
  const auto act = [&]() -> Result<std::string> {
    LASTREF_TRY(sent, reducer_->reduce(array));
    LASTREF_TRY(encoded, encode_reduction(sent.reduction));
    bytes = text_of_bytes(encoded);
    last_file_ = file_of(sent.reduction);
    must_have_reference(stage_, sent);
    in_transit_.insert_or_assign(signal, std::move(sent));
    return std::string();
  };
  LASTREF_CHECK(stage_.product().operation_with_answer("reduce", data_of(array), act));
  stage_.send(signal, bytes);
  return ok();
}

Status Parent::arrived(const std::string& signal) {
  const auto found = in_transit_.find(signal);
  if (found == in_transit_.end()) {
    return ok();
  }
  Status done = stage_.product().operation("arrived", [&] { return found->second.arrived(); });
  in_transit_.erase(found);
  return done;
}

Status Parent::begin(const std::string& context) {
  return stage_.product().operation("begin",
                                    [&] { return resources_->set_current_context(context); });
}

Status Parent::clean_up(CleanUpOptions options, const std::optional<std::string>& context) {
  return stage_.product().operation("clean up",
                                    [&] { return resources_->clean_up(context, options); });
}

Worker::Worker(Stage& stage)
    : stage_(stage), receiver_(std::make_shared<Receiver>(stage.os(), references_of(stage))) {}

Result<Array> Worker::receive(const std::string& signal) {
  std::optional<Array> arrived;
  const Result<std::string> bytes = stage_.receive(signal);
  const Status rebuilt = stage_.product().operation("rebuild", [&]() -> Status {
    LASTREF_CHECK(bytes);
    LASTREF_TRY(reduction, decode_reduction(os::bytes_of(*bytes)));
    LASTREF_TRY(array, receiver_->rebuild(reduction));
    last_file_ = file_of(reduction);
    arrived = std::move(array);
    return ok();
  });
  stage_.tell(signal + " has arrived");
  LASTREF_CHECK(rebuilt);
  return *std::move(arrived);
}

Status receive_arrays(Stage& stage, std::initializer_list<const char*> signals) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  Status received;
  for (const char* signal : signals) {
    const Result<Array> array = worker.receive(signal);
    if (array) {
      must_equal(stage, *array, numbered());
    }
    received = first_failure({received, status_of(array)});
  }
  return received;
}

Status receive_an_array(Stage& stage) {
  return receive_arrays(stage, {"array"});
}

Status send_and_stay_alive(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  LASTREF_CHECK(parent.send("array", array));
  stage.send("path", parent.last_file());
  stage.stay_until_killed();
  return ok();
}

}  // namespace lastref::harness
