// Codec: how a value of a type becomes bytes, and is read from bytes again.
//
// There are codecs for numbers, enumerations, containers (std::string, std::vector, std::map and
// others), std::optional, std::pair, std::tuple, std::array, and for structs that are trivially
// copyable. For a type of your own, specialise Codec:
//
//   template <>
//   struct lastref::Codec<Person> {
//     static void write(Writer& to, const Person& person) { to.write(person.name, person.age); }
//     static Result<Person> read(Reader& from) {
//       LASTREF_TRY(name, from.read<std::string>());
//       LASTREF_TRY(age, from.read<int>());
//       return Person{std::move(name), age};
//     }
//   };
//
// Pitfalls:
// - Each value must take one byte or more. A count is refused if fewer bytes follow it, so that no
//   memory is allocated for elements that are not there.
// - A struct that is trivially copyable is written as its bytes. It must have no pointers. Its
//   padding is written as it is, so equal structs may have different bytes.
// - The bytes are for programs of one architecture, with the same types.
// - Any bytes give a value or an error. A number can have any value; check yours in `read`.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <lastref/array.hpp>
#include <lastref/error.hpp>

namespace lastref {

template <typename T>
struct Codec;

/// Puts a block of bytes into a file, for a Writer: an array of the bytes, or none if the block is
/// to travel with the other bytes.
using StoreBlock = std::function<Result<std::optional<Array>>(std::span<const std::byte> block)>;

/// Collects the bytes of values, and arrays that travel next to them.
class Writer {
 public:
  Writer() = default;
  /// A container is put where `store` puts it if its elements are written as their bytes.
  explicit Writer(StoreBlock store) : store_(std::move(store)) {}

  /// Appends values, in this order.
  template <typename... Values>
  void write(const Values&... values) {
    (Codec<Values>::write(*this, values), ...);
  }
  /// Appends bytes as they are. The reader has to know how many there are.
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// Appends a number of elements, and their bytes.
  void block(std::size_t count, std::span<const std::byte> bytes) {
    if (store_ && stored_) {
      auto array = store_(bytes);
      if (!array) {
        stored_ = failure(std::move(array).error());
        return;
      }
      if (*array) {
        write(stored_block);
        attach(**std::move(array));
        return;
      }
    }
    write(std::uint64_t{count});
    raw(bytes);
  }
  /// Appends an array, which travels through its file if it is large or has one.
  void attach(Array array) { arrays_.push_back(std::move(array)); }

  std::vector<std::byte>& bytes() noexcept { return bytes_; }
  std::vector<Array>& arrays() noexcept { return arrays_; }
  /// The first error of a block that could not be stored. Then what was written is not whole.
  const Status& stored() const noexcept { return stored_; }

  /// In the place of the number of elements: they are in the next array.
  static constexpr std::uint64_t stored_block = std::numeric_limits<std::uint64_t>::max();

 private:
  StoreBlock store_;
  Status stored_ = ok();
  std::vector<std::byte> bytes_;
  std::vector<Array> arrays_;
};

/// The bytes of elements.
struct Block {
  std::span<const std::byte> bytes;
  std::optional<Array> keeper = {};  ///< Keeps the bytes, if they are those of an array.
};

/// Takes values from the front of bytes, and arrays in the order in which they were attached.
class Reader {
 public:
  /// Both must outlive it.
  explicit Reader(std::span<const std::byte> bytes, std::span<const Array> arrays = {}) noexcept
      : bytes_(bytes), arrays_(arrays) {}

  /// Errors          of the codec; bad_message: fewer bytes than the value needs.
  template <typename T>
  Result<T> read() {
    return Codec<T>::read(*this);
  }
  /// Returns bytes that `Writer::raw` wrote; they are those that the reader was made with.
  ///
  /// Errors          bad_message: there are fewer.
  Result<std::span<const std::byte>> raw(std::size_t size) {
    if (size > bytes_.size()) {
      return failure(std::errc::bad_message, "cut short");
    }
    return std::exchange(bytes_, bytes_.subspan(size)).first(size);
  }
  /// Returns a number of elements that follow, each of one byte or more.
  ///
  /// Errors          bad_message: there are fewer bytes.
  Result<std::size_t> count() {
    LASTREF_TRY(count, read<std::uint64_t>());
    if (count > bytes_.size()) {
      return failure(std::errc::bad_message, "more elements than bytes");
    }
    return static_cast<std::size_t>(count);
  }
  /// Returns the bytes of elements of `size` bytes, which `Writer::block` wrote.
  ///
  /// Errors          bad_message: there are fewer, or no whole number of elements.
  Result<Block> block(std::size_t size) {
    LASTREF_TRY(count, read<std::uint64_t>());
    if (count == Writer::stored_block) {
      LASTREF_TRY(array, attached());
      if (!array.is_c_contiguous() || array.nbytes() % size != 0) {
        return failure(std::errc::bad_message, "an array that is no block of elements");
      }
      const std::span bytes(array.data(), array.nbytes());
      return Block{.bytes = bytes, .keeper = std::move(array)};
    }
    if (count > bytes_.size() / size) {
      return failure(std::errc::bad_message, "more elements than bytes");
    }
    LASTREF_TRY(bytes, raw(static_cast<std::size_t>(count) * size));
    return Block{.bytes = bytes};
  }
  /// Returns the next array.
  ///
  /// Errors          bad_message: there are no more.
  Result<Array> attached() {
    if (arrays_.empty()) {
      return failure(std::errc::bad_message, "an array is missing");
    }
    return std::exchange(arrays_, arrays_.subspan(1)).front();
  }
  /// Errors          bad_message: bytes or arrays are left.
  Status finish() const {
    return bytes_.empty() && arrays_.empty()
               ? ok()
               : failure(std::errc::bad_message, "bytes after the end");
  }

 private:
  std::span<const std::byte> bytes_;
  std::span<const Array> arrays_;
};

/// Whether a copy of a T in another process means the same thing.
template <typename T>
inline constexpr bool is_handle = false;

/// A type that has a codec.
template <typename T>
concept Encodable = requires(Writer& to, Reader& from, const T& value) {
  Codec<T>::write(to, value);
  { Codec<T>::read(from) } -> std::same_as<Result<T>>;
};

/// Returns the bytes of a value that attaches no arrays.
template <Encodable T>
std::vector<std::byte> encode(const T& value) {
  Writer to;
  to.write(value);
  return std::move(to.bytes());
}

/// Returns the value that was encoded.
///
/// Errors          bad_message: these are not the bytes of one value and nothing else; of the
///                 codec.
template <Encodable T>
Result<T> decode(Reader from) {
  auto value = from.read<T>();
  if (value) {
    LASTREF_CHECK(from.finish());
  }
  return value;
}
template <Encodable T>
Result<T> decode(std::span<const std::byte> bytes) {
  return decode<T>(Reader(bytes));
}

template <typename T>
inline constexpr bool is_plain_array = false;
template <typename T, std::size_t size>
requires(Codec<T>::is_plain) inline constexpr bool is_plain_array<std::array<T, size>> = true;

/// A type that is written as its bytes: it has no pointers, as far as that can be known.
template <typename T>
concept PlainBytes = std::is_trivially_copyable_v<T> && !std::same_as<T, bool> &&
                     (std::is_class_v<T> || std::is_union_v<T> ||
                      std::is_arithmetic_v<T>)&&(!std::ranges::range<T> || is_plain_array<T>);

template <PlainBytes T>
struct Codec<T> {
  /// Elements of a container are written at once.
  static constexpr bool is_plain = true;

  static void write(Writer& to, const T& value) { to.raw(std::as_bytes(std::span(&value, 1))); }
  static Result<T> read(Reader& from) {
    LASTREF_TRY(bytes, from.raw(sizeof(T)));
    std::array<std::byte, sizeof(T)> copy;
    std::memcpy(copy.data(), bytes.data(), copy.size());
    return std::bit_cast<T>(copy);
  }
};

template <>
struct Codec<bool> {
  static void write(Writer& to, bool value) { to.write(static_cast<std::uint8_t>(value)); }
  static Result<bool> read(Reader& from) {
    LASTREF_TRY(value, from.read<std::uint8_t>());
    return value <= 1 ? Result<bool>(value == 1)
                      : failure(std::errc::bad_message, "a truth value that is neither");
  }
};

template <typename T>
requires std::is_enum_v<T>
struct Codec<T> {
  using Number = std::underlying_type_t<T>;

  static void write(Writer& to, const T& value) { to.write(static_cast<Number>(value)); }
  static Result<T> read(Reader& from) {
    LASTREF_TRY(number, from.read<Number>());
    return static_cast<T>(number);
  }
};

/// A container that elements can be added to.
template <typename T>
concept Container = std::ranges::sized_range<const T> && std::default_initializable<T> &&
    requires(T values, typename T::value_type value) {
  values.insert(values.end(), std::move(value));
};

/// Elements as they are read: the key of a map's element cannot be assigned.
template <typename T>
struct Element {
  using Type = T;
};
template <typename Key, typename T>
struct Element<std::pair<const Key, T>> {
  using Type = std::pair<Key, T>;
};

template <Container T>
requires Encodable<typename Element<typename T::value_type>::Type>
struct Codec<T> {
  using Each = typename Element<typename T::value_type>::Type;
  static constexpr bool is_one_block = std::ranges::contiguous_range<T> && requires {
    requires Codec<Each>::is_plain;
  };

  static void write(Writer& to, const T& values) {
    if constexpr (is_one_block) {
      to.block(std::ranges::size(values), std::as_bytes(std::span(values)));
    } else {
      to.write(std::uint64_t{std::ranges::size(values)});
      for (const auto& each : values) {
        if constexpr (std::same_as<Each, typename T::value_type>) {
          Codec<Each>::write(to, each);
        } else {
          to.write(each.first, each.second);
        }
      }
    }
  }

  static Result<T> read(Reader& from) {
    T values{};
    if constexpr (is_one_block) {
      LASTREF_TRY(block, from.block(sizeof(Each)));
      if (!block.bytes.empty()) {
        values.resize(block.bytes.size() / sizeof(Each));
        std::memcpy(std::ranges::data(values), block.bytes.data(), block.bytes.size());
      }
    } else {
      LASTREF_TRY(count, from.count());
      for (std::size_t index = 0; index < count; ++index) {
        LASTREF_TRY(each, from.read<Each>());
        values.insert(values.end(), std::move(each));
        if (values.size() != index + 1) {
          return failure(std::errc::bad_message, "a key that is there twice");
        }
      }
    }
    return values;
  }
};

template <Encodable T>
struct Codec<std::optional<T>> {
  static void write(Writer& to, const std::optional<T>& value) {
    to.write(value.has_value());
    if (value) {
      to.write(*value);
    }
  }
  static Result<std::optional<T>> read(Reader& from) {
    LASTREF_TRY(has_value, from.read<bool>());
    if (!has_value) {
      return std::optional<T>();
    }
    LASTREF_TRY(value, from.read<T>());
    return std::optional<T>(std::move(value));
  }
};

template <Encodable... Values>
struct Codec<std::tuple<Values...>> {
  static void write(Writer& to, const std::tuple<Values...>& values) {
    if constexpr (sizeof...(Values) == 0) {
      to.write(std::uint8_t{0});  // One byte or more.
    }
    std::apply([&](const Values&... each) { to.write(each...); }, values);
  }
  static Result<std::tuple<Values...>> read(Reader& from) {
    if constexpr (sizeof...(Values) == 0) {
      LASTREF_CHECK(from.raw(1));
      return std::tuple<>();
    } else {
      return read_next<>(from);
    }
  }

 private:
  template <typename... Read>
  static Result<std::tuple<Values...>> read_next(Reader& from, Read&&... read) {
    if constexpr (sizeof...(Read) == sizeof...(Values)) {
      return std::tuple<Values...>(std::forward<Read>(read)...);
    } else {
      using Next = std::tuple_element_t<sizeof...(Read), std::tuple<Values...>>;
      LASTREF_TRY(value, from.read<Next>());
      return read_next(from, std::forward<Read>(read)..., std::move(value));
    }
  }
};

template <Encodable First, Encodable Second>
struct Codec<std::pair<First, Second>> {
  static void write(Writer& to, const std::pair<First, Second>& pair) {
    to.write(pair.first, pair.second);
  }
  static Result<std::pair<First, Second>> read(Reader& from) {
    LASTREF_TRY(first, from.read<First>());
    LASTREF_TRY(second, from.read<Second>());
    return std::pair<First, Second>(std::move(first), std::move(second));
  }
};

template <typename T, std::size_t size>
requires(Encodable<T> && !PlainBytes<std::array<T, size>>) struct Codec<std::array<T, size>> {
  static void write(Writer& to, const std::array<T, size>& values) {
    for (const T& each : values) {
      to.write(each);
    }
  }
  static Result<std::array<T, size>> read(Reader& from) {
    std::array<T, size> values{};
    for (T& each : values) {
      LASTREF_TRY(value, from.read<T>());
      each = std::move(value);
    }
    return values;
  }
};

// These are trivially copyable, or can be; but their bytes mean nothing elsewhere, or can be wrong.
template <typename T>
struct Codec<std::reference_wrapper<T>>;
template <typename... Values>
struct Codec<std::variant<Values...>>;

/// An array without a type. Its dtype and shape are in the array.
template <>
inline constexpr bool is_handle<Array> = true;
template <>
struct Codec<Array> {
  static void write(Writer& to, const Array& array) {
    to.write(std::uint8_t{0});
    to.attach(array);
  }
  static Result<Array> read(Reader& from) {
    LASTREF_CHECK(from.raw(1));
    return from.attached();
  }
};

}  // namespace lastref
