// codec: reductions and options as bytes. Numbers are little-endian, lists start with their length.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <lastref/reducers.hpp>
#include <lastref/resource.hpp>

#include "impl/array/elements.hpp"
#include "impl/array/layout.hpp"
#include "impl/os/wire.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using os::Packed;
using os::put;

constexpr std::uint8_t version = 2;
/// bytes; the text of a structured dtype may be long.
constexpr std::size_t text_size_max = std::size_t{1} << 20U;

enum class EncodedKind : std::uint8_t { view, load, value, options };

tl::unexpected<Error> malformed(const char* reason) {
  return failure(std::errc::bad_message, reason);
}

void put(Packed& into, const Shape& shape) {
  put(into, static_cast<std::uint8_t>(shape.size()));
  for (const std::size_t length : shape) {
    put(into, std::uint64_t{length});
  }
}

void put(Packed& into, const Strides& strides) {
  put(into, static_cast<std::uint8_t>(strides.size()));
  for (const std::ptrdiff_t stride : strides) {
    put(into, static_cast<std::uint64_t>(stride));
  }
}

void put(Packed& into, const Identity& identity) {
  put(into, identity.device);
  put(into, identity.inode);
  put(into, identity.btime);
}

template <typename Value>
void put(Packed& into, const std::optional<Value>& value) {
  put(into, static_cast<std::uint8_t>(value.has_value()));
  if (value) {
    put(into, *value);
  }
}

Packed start(EncodedKind kind) {
  Packed made;
  put(made, version);
  put(made, static_cast<std::uint8_t>(kind));
  return made;
}

/// Reads the parts of reductions that are no numbers.
class Reader : public os::Unpacker {
 public:
  using Unpacker::Unpacker;

  bool flag() noexcept { return option(2) == 1; }

  /// A number less than `count`.
  std::uint8_t option(std::uint8_t count) noexcept {
    const auto taken = number<std::uint8_t>();
    if (taken >= count) {
      fail("an unknown option");
      return 0;
    }
    return taken;
  }

  std::string text() {
    std::string text = Unpacker::text();
    if (text.size() > text_size_max) {
      fail("a text that is too long");
      return {};
    }
    return text;
  }

  std::string path() {
    std::string path = text();
    if (!path.starts_with('/') || path.find('\0') != std::string::npos ||
        path.size() > name_size_max) {
      fail("an impossible path");
    }
    return path;
  }

  Identity identity() noexcept {
    Identity taken;
    taken.device = number<std::uint64_t>();
    taken.inode = number<std::uint64_t>();
    taken.btime = number<std::uint64_t>();
    return taken;
  }

  template <typename Lengths>
  Lengths lengths() {
    Lengths all;
    const auto count = number<std::uint8_t>();
    if (count > dims_max) {
      fail("too many axes");
      return all;
    }
    for (std::size_t axis = 0; axis < count; ++axis) {
      all.push_back(static_cast<typename Lengths::value_type>(number<std::uint64_t>()));
    }
    return all;
  }

  template <typename Take>
  auto optional(Take take) -> std::optional<decltype(take())> {
    return flag() ? std::optional(take()) : std::nullopt;
  }
};

Result<Reader> open(os::Bytes bytes, EncodedKind& kind) {
  Reader reader(bytes);
  if (reader.number<std::uint8_t>() != version) {
    return malformed("of another version");
  }
  kind =
      static_cast<EncodedKind>(reader.option(static_cast<std::uint8_t>(EncodedKind::options) + 1));
  return reader;
}

constexpr std::uint8_t modes = 4;
constexpr std::uint8_t orders = 2;

Result<DType> dtype_from(Reader& reader) {
  auto dtype = DType::parse(reader.text());
  if (!dtype) {
    LASTREF_CHECK(reader.finish());
    return failure(std::errc::bad_message, "a dtype: " + dtype.error().subject);
  }
  if (dtype->has_object()) {
    return malformed("elements that point into another Python");
  }
  return dtype;
}

Result<Reduction> view_from(Reader& reader) {
  std::string path = reader.path();
  LASTREF_TRY(dtype, dtype_from(reader));
  StridedFromMemmap view{.filename = std::move(path),
                         .dtype = std::move(dtype),
                         .mode = static_cast<MapMode>(reader.option(modes)),
                         .offset = reader.number<std::uint64_t>(),
                         .order = static_cast<Order>(reader.option(orders)),
                         .shape = reader.lengths<Shape>()};
  view.strides = reader.optional([&] { return reader.lengths<Strides>(); });
  view.total_buffer_len = reader.optional([&] { return reader.number<std::uint64_t>(); });
  view.unlink = reader.flag();
  view.identity = reader.optional([&] { return reader.identity(); });
  LASTREF_CHECK(reader.finish());
  if (view.strides && (view.strides->size() != view.shape.size() || !view.total_buffer_len)) {
    return malformed("strides that do not belong to the shape");
  }
  return Reduction(std::move(view));
}

Result<Reduction> load_from(Reader& reader) {
  LoadTemporaryMemmap load{.filename = reader.path(),
                           .mode = static_cast<MapMode>(reader.option(modes)),
                           .unlink_on_gc_collect = reader.flag()};
  load.repeated_to = reader.optional([&] { return reader.lengths<Shape>(); });
  LASTREF_CHECK(reader.finish());
  return Reduction(std::move(load));
}

Result<Reduction> value_from(Reader& reader) {
  LASTREF_TRY(dtype, dtype_from(reader));
  const auto order = static_cast<Order>(reader.option(orders));
  Shape shape = reader.lengths<Shape>();
  auto repeated_to = reader.optional([&] { return reader.lengths<Shape>(); });
  const os::Bytes bytes = reader.rest();
  LASTREF_CHECK(reader.finish());
  LASTREF_TRY(count, array::size_of(shape, dtype.itemsize()));
  if (count * dtype.itemsize() != bytes.size()) {
    return malformed("more or fewer elements than the shape has");
  }
  LASTREF_TRY(memory, Memory::uninitialized(bytes.size()));
  std::ranges::copy(bytes, memory->bytes().begin());
  LASTREF_TRY(elements,
              Array::over(std::move(memory),
                          {.dtype = std::move(dtype), .shape = std::move(shape), .order = order}));
  if (repeated_to) {
    if (const auto repeated = elements.broadcast_to(*repeated_to); !repeated) {
      return failure(std::errc::bad_message, "elements that do not fit the repeated shape");
    }
  }
  return Reduction(ByValue{.elements = std::move(elements), .repeated_to = std::move(repeated_to)});
}

Status check_elements(const DType& dtype) {
  if (dtype.has_object()) {
    return failure(std::errc::not_supported, "elements that point into one Python");
  }
  return ok();
}

void put_value(Packed& into, const ByValue& value) {
  const Array& elements = value.elements;
  const Order order =
      elements.is_f_contiguous() && !elements.is_c_contiguous() ? Order::f : Order::c;
  put(into, elements.dtype().text());
  put(into, static_cast<std::uint8_t>(order));
  put(into, elements.shape());
  put(into, value.repeated_to);
  const std::size_t at = into.size();
  into.resize(at + elements.nbytes());
  array::ElementStream stream(elements, order);
  stream.read(os::Buffer(into).subspan(at));
}

}  // namespace

Result<std::vector<std::byte>> encode_reduction(const Reduction& reduction) {
  return os::within_memory("a reduction", [&]() -> Result<std::vector<std::byte>> {
    if (const auto* view = std::get_if<StridedFromMemmap>(&reduction)) {
      LASTREF_CHECK(check_elements(view->dtype));
      Packed made = start(EncodedKind::view);
      put(made, view->filename);
      put(made, view->dtype.text());
      put(made, static_cast<std::uint8_t>(view->mode));
      put(made, view->offset);
      put(made, static_cast<std::uint8_t>(view->order));
      put(made, view->shape);
      put(made, view->strides);
      put(made, view->total_buffer_len);
      put(made, static_cast<std::uint8_t>(view->unlink));
      put(made, view->identity);
      return made;
    }
    if (const auto* load = std::get_if<LoadTemporaryMemmap>(&reduction)) {
      Packed made = start(EncodedKind::load);
      put(made, load->filename);
      put(made, static_cast<std::uint8_t>(load->mode));
      put(made, static_cast<std::uint8_t>(load->unlink_on_gc_collect));
      put(made, load->repeated_to);
      return made;
    }
    const auto& value = std::get<ByValue>(reduction);
    LASTREF_CHECK(check_elements(value.elements.dtype()));
    Packed made = start(EncodedKind::value);
    put_value(made, value);
    return made;
  });
}

Result<Reduction> decode_reduction(os::Bytes bytes) {
  return os::within_memory("a reduction", [&]() -> Result<Reduction> {
    EncodedKind kind{};
    LASTREF_TRY(reader, open(bytes, kind));
    switch (kind) {
      case EncodedKind::view:
        return view_from(reader);
      case EncodedKind::load:
        return load_from(reader);
      case EncodedKind::value:
        return value_from(reader);
      case EncodedKind::options:
        return malformed("no array");
    }
    return malformed("no array");
  });
}

Result<std::vector<std::byte>> encode_forward_options(const ForwardOptions& options) {
  return os::within_memory("options", [&]() -> Result<std::vector<std::byte>> {
    Packed made = start(EncodedKind::options);
    put(made, options.max_nbytes);
    put(made, static_cast<std::uint8_t>(options.mmap_mode));
    put(made, static_cast<std::uint8_t>(options.unlink_on_gc_collect));
    put(made, static_cast<std::uint8_t>(options.prewarm));
    put(made, static_cast<std::uint32_t>(options.verbose));
    return made;
  });
}

Result<ForwardOptions> decode_forward_options(os::Bytes bytes) {
  return os::within_memory("options", [&]() -> Result<ForwardOptions> {
    EncodedKind kind{};
    LASTREF_TRY(reader, open(bytes, kind));
    if (kind != EncodedKind::options) {
      return malformed("no options");
    }
    constexpr std::uint8_t prewarms = 3;
    ForwardOptions options;
    options.max_nbytes = reader.optional([&] { return reader.number<std::uint64_t>(); });
    options.mmap_mode = static_cast<MapMode>(reader.option(modes));
    options.unlink_on_gc_collect = reader.flag();
    options.prewarm = static_cast<Prewarm>(reader.option(prewarms));
    options.verbose = static_cast<int>(reader.number<std::uint32_t>());
    LASTREF_CHECK(reader.finish());
    return options;
  });
}

}  // namespace lastref
