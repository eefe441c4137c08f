#include "impl/backends/codec.hpp"

#include <map>
#include <utility>

namespace lastref::backends {
namespace {

using os::Packed;
using os::put;
using os::Unpacker;

/// What a value starts with. A failure starts with the index of its kind in the variant.
using Tag = std::uint8_t;

template <typename Kind, typename... Kinds>
consteval Tag index_in(const std::variant<Kinds...>*) {
  Tag index = 0;
  for (const bool is_it : {std::is_same_v<Kind, Kinds>...}) {
    if (is_it) {
      break;
    }
    ++index;
  }
  return index;
}

template <typename Kind>
consteval Tag tag_of() {
  return index_in<Kind>(static_cast<const Value::Content*>(nullptr));
}

tl::unexpected<Error> too_deep() {
  return failure(std::errc::value_too_large,
                 "lists in lists, more than " + std::to_string(depth_max) + " deep");
}

/// Values one after the other; their arrays are put into a table.
class Encoder {
 public:
  explicit Encoder(const ArrayReducer& reduce) noexcept : reduce_(reduce) {}

  Status add(const Value& value, std::size_t depth = 0) {
    put(body_, static_cast<Tag>(value.content().index()));
    return std::visit([&](const auto& content) { return add_content(content, depth); },
                      value.content());
  }

  Status add_all(std::span<const Value> values, std::size_t depth = 0) {
    put(body_, std::uint64_t{values.size()});
    for (const Value& value : values) {
      LASTREF_CHECK(add(value, depth));
    }
    return ok();
  }

  Packed& body() noexcept { return body_; }

  /// `front`, the table of arrays, and the added values.
  Encoded finish(Packed front) {
    put(front, arrays_count_);
    front.insert(front.end(), arrays_.begin(), arrays_.end());
    front.insert(front.end(), body_.begin(), body_.end());
    return {.bytes = std::move(front), .sent = std::move(sent_)};
  }

 private:
  Status add_content(std::monostate, std::size_t) { return ok(); }
  Status add_content(bool truth, std::size_t) { return plain(static_cast<std::uint8_t>(truth)); }
  Status add_content(std::int64_t number, std::size_t) { return plain(number); }
  Status add_content(double number, std::size_t) { return plain(number); }
  Status add_content(const std::string& text, std::size_t) { return plain(std::string_view(text)); }
  Status add_content(const ByteString& bytes, std::size_t) { return plain(os::Bytes(bytes)); }

  Status add_content(const Array& array, std::size_t) {
    const auto [found, is_new] = numbers_.try_emplace(array.identity(), arrays_count_);
    if (is_new) {
      LASTREF_TRY(sent, reduce_(array));
      LASTREF_TRY(bytes, lastref::encode_reduction(sent.reduction));
      put(arrays_, os::Bytes(bytes));
      ++arrays_count_;
      if (sent.reference) {
        sent.reduction = LoadTemporaryMemmap();  // Its bytes are in the table.
        sent_.push_back(std::move(sent));
      }
    }
    return plain(found->second);
  }

  Status add_content(const List& list, std::size_t depth) {
    return depth == depth_max ? Status(too_deep()) : add_all(list, depth + 1);
  }

  Status add_content(const Map& map, std::size_t depth) {
    if (depth == depth_max) {
      return too_deep();
    }
    put(body_, std::uint64_t{map.size()});
    for (const auto& [key, value] : map) {
      put(body_, std::string_view(key));
      LASTREF_CHECK(add(value, depth + 1));
    }
    return ok();
  }

  template <typename Content>
  Status plain(Content content) {
    put(body_, content);
    return ok();
  }

  const ArrayReducer& reduce_;
  Packed arrays_;
  Packed body_;
  std::uint64_t arrays_count_ = 0;
  std::map<std::weak_ptr<const void>, std::uint64_t, std::owner_less<>> numbers_;
  std::vector<Sent> sent_;
};

Result<std::vector<Array>> take_arrays(Unpacker& unpacker, const Rebuild& rebuild) {
  std::vector<Array> arrays;
  const std::size_t count = unpacker.count();
  while (arrays.size() < count && !unpacker.failed()) {
    const os::Bytes bytes = unpacker.bytes();
    if (unpacker.failed()) {
      break;
    }
    LASTREF_TRY(reduction, decode_reduction(bytes));
    LASTREF_TRY(array, rebuild(reduction));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

class Decoder {
 public:
  Decoder(Unpacker& unpacker, const std::vector<Array>& arrays) noexcept
      : unpacker_(unpacker), arrays_(arrays), space_(unpacker.left()) {}

  List take_all(std::size_t depth = 0) {
    List list;
    const std::size_t count = unpacker_.count();
    const std::size_t reserved = std::min(count, space_);
    space_ -= reserved;
    list.reserve(reserved);
    while (list.size() < count && !unpacker_.failed()) {
      list.push_back(take(depth));
    }
    return list;
  }

 private:
  Value take(std::size_t depth) {
    switch (unpacker_.number<Tag>()) {
      case tag_of<std::monostate>():
        return {};
      case tag_of<bool>():
        return truth();
      case tag_of<std::int64_t>():
        return unpacker_.number<std::int64_t>();
      case tag_of<double>():
        return unpacker_.number<double>();
      case tag_of<std::string>():
        return unpacker_.text();
      case tag_of<ByteString>(): {
        const os::Bytes bytes = unpacker_.bytes();
        return ByteString(bytes.begin(), bytes.end());
      }
      case tag_of<Array>():
        return array();
      case tag_of<List>():
        return is_deeper(depth) ? Value(take_all(depth + 1)) : Value();
      case tag_of<Map>():
        return is_deeper(depth) ? Value(map(depth + 1)) : Value();
      default:
        unpacker_.fail("an unknown kind of value");
        return {};
    }
  }

  bool is_deeper(std::size_t depth) {
    if (depth == depth_max) {
      unpacker_.fail("lists in lists, too deep");
    }
    return depth < depth_max;
  }

  Value truth() {
    const auto truth = unpacker_.number<std::uint8_t>();
    if (truth > 1) {
      unpacker_.fail("an impossible truth value");
    }
    return truth == 1;
  }

  Value array() {
    const auto number = unpacker_.number<std::uint64_t>();
    if (number >= arrays_.size()) {
      unpacker_.fail("a missing array");
      return {};
    }
    return arrays_[number];
  }

  Map map(std::size_t depth) {
    Map map;
    const std::size_t count = unpacker_.count();
    for (std::size_t at = 0; at < count && !unpacker_.failed(); ++at) {
      std::string key = unpacker_.text();
      if (!map.try_emplace(std::move(key), take(depth)).second) {
        unpacker_.fail("a duplicate key");
      }
    }
    return map;
  }

  Unpacker& unpacker_;
  const std::vector<Array>& arrays_;
  /// The number of values that space may still be reserved for: each takes a byte or more, but
  /// nested lists may all claim the same bytes.
  std::size_t space_;
};

struct EncodeFailure {
  Packed& into;

  void operator()(const Error& error) const {
    put(into, static_cast<std::int32_t>(error.code));
    put(into, static_cast<std::uint8_t>(error.call));
    put(into, std::string_view(error.subject));
  }
  void operator()(const TransportableException& thrown) const {
    put(into, std::string_view(thrown.type));
    put(into, std::string_view(thrown.message));
    put(into, std::string_view(thrown.where));
  }
  void operator()(const WorkerInterrupt& interrupt) const {
    put(into, std::string_view(interrupt.where));
  }
  /// Only a parent reports this, but a worker may have had one from another pool.
  void operator()(const TerminatedWorker& dead) const {
    put(into, dead.pid);
    put(into, static_cast<std::uint8_t>(dead.exit.has_value()));
    put(into, dead.exit ? dead.exit->code : 0);
    put(into, static_cast<std::uint8_t>(dead.exit && dead.exit->killed));
    put(into, std::string_view(dead.task));
    put(into, std::string_view(dead.reason));
  }
};

Error take_error(Unpacker& unpacker) {
  Error error;
  error.code = static_cast<std::errc>(unpacker.number<std::int32_t>());
  const auto call = unpacker.number<std::uint8_t>();
  if (call > call_rows().size()) {
    unpacker.fail("an unknown call");
  } else {
    error.call = static_cast<Call>(call);
  }
  error.subject = unpacker.text();
  return error;
}

TerminatedWorker take_terminated(Unpacker& unpacker) {
  TerminatedWorker dead{.pid = unpacker.number<os::Pid>()};
  const bool is_known = unpacker.number<std::uint8_t>() != 0;
  const int code = unpacker.number<int>();
  const bool killed = unpacker.number<std::uint8_t>() != 0;
  if (is_known) {
    dead.exit = {.code = code, .killed = killed};
  }
  dead.task = unpacker.text();
  dead.reason = unpacker.text();
  return dead;
}

}  // namespace

Result<Encoded> encode_batch(const Batch& batch, const ArrayReducer& reduce) {
  Encoder encoder(reduce);
  std::map<std::string_view, std::uint32_t> numbers;
  std::vector<std::string_view> names;
  const Task* before = nullptr;
  std::uint32_t number = 0;
  put(encoder.body(), std::uint64_t{batch.size()});
  for (const Task& task : batch) {
    // Most batches use one name.
    if (before == nullptr || before->function != task.function) {
      if (task.function.size() > function_name_size_max) {
        return failure(std::errc::function_not_supported, task.function);
      }
      const auto next = static_cast<std::uint32_t>(names.size());
      const auto [found, is_new] = numbers.try_emplace(task.function, next);
      if (is_new) {
        names.push_back(task.function);
      }
      number = found->second;
      before = &task;
    }
    put(encoder.body(), number);
    LASTREF_CHECK(encoder.add_all(task.arguments));
  }
  Packed front;
  put(front, std::uint64_t{names.size()});
  for (const std::string_view name : names) {
    put(front, name);
  }
  return encoder.finish(std::move(front));
}

Result<Encoded> encode_results(const List& results, const ArrayReducer& reduce) {
  Encoder encoder(reduce);
  LASTREF_CHECK(encoder.add_all(results));
  return encoder.finish({});
}

Packed encode_failure(const TaskFailure& failure) {
  Packed bytes;
  put(bytes, static_cast<std::uint8_t>(failure.index()));
  std::visit(EncodeFailure{bytes}, failure);
  return bytes;
}

Result<Batch> decode_batch(os::Bytes bytes, const Rebuild& rebuild) {
  Unpacker unpacker(bytes);
  std::vector<std::string> names;
  const std::size_t names_count = unpacker.count();
  while (names.size() < names_count && !unpacker.failed()) {
    names.push_back(unpacker.text());
    // Each task has a copy of the name, although the task may take only a dozen bytes in the
    // message.
    if (names.back().size() > function_name_size_max) {
      unpacker.fail("the name of a function that is too long");
    }
  }
  LASTREF_TRY(arrays, take_arrays(unpacker, rebuild));
  Decoder decoder(unpacker, arrays);
  Batch batch;
  const std::size_t count = unpacker.count();
  while (batch.size() < count && !unpacker.failed()) {
    const auto name = unpacker.number<std::uint32_t>();
    if (name >= names.size()) {
      unpacker.fail("an unknown function");
      break;
    }
    batch.push_back({.function = names[name], .arguments = decoder.take_all()});
  }
  LASTREF_CHECK(unpacker.finish());
  return batch;
}

bool has_arrays(os::Bytes results) {
  Unpacker unpacker(results);
  return unpacker.number<std::uint64_t>() != 0;
}

Result<List> decode_results(os::Bytes bytes, const Rebuild& rebuild) {
  Unpacker unpacker(bytes);
  LASTREF_TRY(arrays, take_arrays(unpacker, rebuild));
  List results = Decoder(unpacker, arrays).take_all();
  LASTREF_CHECK(unpacker.finish());
  return results;
}

Result<TaskFailure> decode_failure(os::Bytes bytes) {
  Unpacker unpacker(bytes);
  TaskFailure failure;
  switch (unpacker.number<std::uint8_t>()) {
    case 0:
      failure = take_error(unpacker);
      break;
    case 1:
      failure = TransportableException{
          .type = unpacker.text(), .message = unpacker.text(), .where = unpacker.text()};
      break;
    case 2:
      failure = WorkerInterrupt{.where = unpacker.text()};
      break;
    case 3:
      failure = take_terminated(unpacker);
      break;
    default:
      unpacker.fail("an unknown kind of failure");
  }
  LASTREF_CHECK(unpacker.finish());
  return failure;
}

}  // namespace lastref::backends
