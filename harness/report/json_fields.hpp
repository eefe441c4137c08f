// json_fields: structs as JSON objects and back, each described by one function for both ways:
//
//     void visit_members(auto& visit, SameAs<Count> auto& count) {
//       visit("total", count.total);
//       visit("executed", count.executed);
//     }
//
// A member may be a number, bool or text, an enumeration with names, a struct with such a function,
// or an optional, array, vector, set or map of these. What is read may come from any process: a
// member that is missing, of another type or too large makes the reader invalid, and is read as
// empty.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace lastref::harness {

/// T, or T const.
template <typename Given, typename T>
concept SameAs = std::same_as<std::remove_const_t<Given>, T>;

/// Writes the members of one struct.
class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  template <typename T>
  void operator()(const char* name, const T& value) {
    json_[name] = json_from(value);
  }
  void hash(const char* name, std::uint64_t value) { json_[name] = value; }

  template <typename T>
  static Json json_from(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return name_of(value);
    } else if constexpr (requires(JsonWriter & writer) { visit_members(writer, value); }) {
      JsonWriter writer;
      visit_members(writer, value);
      return std::move(writer.json_);
    } else if constexpr (requires { value.has_value(); }) {
      return value ? json_from(*value) : Json();
    } else if constexpr (requires { typename T::mapped_type; }) {
      Json json = Json::object();
      for (const auto& [name, each] : value) {
        json[name] = json_from(each);
      }
      return json;
    } else if constexpr (requires { value.begin(); } && !std::same_as<T, std::string>) {
      Json json = Json::array();
      for (const auto& each : value) {
        json.push_back(json_from(each));
      }
      return json;
    } else {
      return value;
    }
  }

 private:
  Json json_ = Json::object();
};

class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  bool is_valid() const noexcept { return wrong_.empty(); }
  /// The first member that was not as expected; empty: there is none.
  const std::string& wrong() const noexcept { return wrong_; }
  void refuse(std::string_view name) { wrong_ = wrong_.empty() ? std::string(name) : wrong_; }

  template <typename T>
  T read(const Json& from, const char* name) {
    const Json* const member = member_of(from, name);
    return member == nullptr ? T() : value_of<T>(*member, name);
  }

  /// Of any size
  std::uint64_t read_hash(const Json& from, const char* name) {
    const Json* const member = member_of(from, name);
    return member == nullptr ? 0 : hash_in(*member, name);
  }
  std::uint64_t hash_in(const Json& json, std::string_view name) {
    return json.is_number_unsigned() ? json.get<std::uint64_t>() : refused<std::uint64_t>(name);
  }

  /// Calls `each` with the elements of an array.
  template <typename Each>
  void for_each(const Json& from, const char* name, const Each& each) {
    const Json* const member = member_of(from, name);
    if (member != nullptr && !member->is_array()) {
      refuse(name);
    } else if (member != nullptr) {
      for (const Json& element : *member) {
        each(element);
      }
    }
  }

  /// @param name  Of the member that has it
  template <typename T>
  T value_of(const Json& json, std::string_view name) {
    if constexpr (std::is_enum_v<T>) {
      return enumerator_of<T>(json, name);
    } else if constexpr (requires(Members & members, T & value) {
                           visit_members(members, value);
                         }) {
      T value;
      Members members{.reader = *this, .json = json};
      visit_members(members, value);
      return value;
    } else if constexpr (std::same_as<T, bool>) {
      return json.is_boolean() ? json.get<bool>() : refused<T>(name);
    } else if constexpr (std::same_as<T, std::string>) {
      return json.is_string() ? json.get<std::string>() : refused<T>(name);
    } else if constexpr (std::same_as<T, double>) {
      return json.is_number() ? json.get<double>() : refused<T>(name);
    } else if constexpr (std::unsigned_integral<T>) {
      const bool is_number = json.is_number_unsigned() && json.get<std::uint64_t>() < number_max;
      return is_number ? json.get<T>() : refused<T>(name);
    } else {
      return several_of<T>(json, name);
    }
  }

 private:
  /// More than anything that is counted
  static constexpr std::uint64_t number_max = std::uint64_t{1} << 48U;

  /// Reads the members of one struct.
  struct Members {
    JsonReader& reader;
    const Json& json;

    template <typename T>
    void operator()(const char* name, T& value) {
      value = reader.read<T>(json, name);
    }
    void hash(const char* name, std::uint64_t& value) { value = reader.read_hash(json, name); }
  };

  const Json* member_of(const Json& from, const char* name) {
    const auto found = from.is_object() ? from.find(name) : from.end();
    if (!from.is_object() || found == from.end()) {
      refuse(name);
      return nullptr;
    }
    return &*found;
  }

  template <typename T>
  T enumerator_of(const Json& json, std::string_view name) {
    constexpr auto names = names_of(T());
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (json.is_string() && json.get_ref<const std::string&>() == names[at]) {
        return static_cast<T>(at);
      }
    }
    return refused<T>(name);
  }

  template <typename T>
  T several_of(const Json& json, std::string_view name) {
    T all = {};
    if constexpr (requires { all.has_value(); }) {
      if (!json.is_null()) {
        all = value_of<typename T::value_type>(json, name);
      }
    } else if constexpr (requires { typename T::mapped_type; }) {
      if (!json.is_object()) {
        return refused<T>(name);
      }
      for (const auto& [key, each] : json.items()) {
        all[key] = value_of<typename T::mapped_type>(each, name);
      }
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      if (!json.is_array() || json.size() != all.size()) {
        return refused<T>(name);
      }
      for (std::size_t at = 0; at < all.size(); ++at) {
        all[at] = value_of<typename T::value_type>(json[at], name);
      }
    } else {
      if (!json.is_array()) {
        return refused<T>(name);
      }
      for (const Json& each : json) {
        all.insert(all.end(), value_of<typename T::value_type>(each, name));
      }
    }
    return all;
  }

  template <typename T>
  T refused(std::string_view name) {
    refuse(name);
    return {};
  }

  std::string wrong_;
};

}  // namespace lastref::harness
