// json_members: reads members of JSON from another process, which may lack them or have others.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace lastref::harness {

/// Null if there is no such member, or `object` is not an object. Json is one of nlohmann's types.
template <typename Json>
const Json& member_of(const Json& object, const char* name) {
  static const Json null;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? null : *found;
}

/// Empty if the member is no text.
template <typename Json>
std::string text_of(const Json& object, const char* name) {
  const Json& member = member_of(object, name);
  return member.is_string() ? member.template get<std::string>() : std::string();
}

/// Empty if the member is no list.
template <typename Json>
const Json& list_of(const Json& object, const char* name) {
  static const Json none = Json::array();
  const Json& member = member_of(object, name);
  return member.is_array() ? member : none;
}

}  // namespace lastref::harness
