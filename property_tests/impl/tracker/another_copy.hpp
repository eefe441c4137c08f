// another_copy: what a program can ask of the copy of the library in a plugin.
#pragma once

namespace lastref::pretend {

/// Functions of the plugin, by pointers: the two copies are not linked to each other.
struct AnotherCopy {
  const void* (*process)();                ///< An object that exists once per copy.
  bool (*join)(const char* tree);          ///< Also leaves the tree that it has joined.
  void (*leave)();                         ///< The tree that it has joined or leads.
  bool (*lead)(const char* runtime);       ///< A tree of its own.
  int (*sweep)(const char* runtime);       ///< How many trees are alive; -1: failed.
  bool (*make_cache)(const char* folder);  ///< And closes it.
};

/// The name of the function that returns them.
inline constexpr const char* another_copy = "another_copy";

}  // namespace lastref::pretend
