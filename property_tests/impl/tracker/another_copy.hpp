// another_copy: what a program can ask of the copy of the library in a plugin.
#pragma once

namespace lastref::pretend {

/// Functions of the plugin, by pointers: nothing of the two copies is linked to each other.
struct AnotherCopy {
  const void* (*process)();                ///< What is there once for each copy.
  bool (*join)(const char* tree);          ///< Also leaves the one that it has joined.
  void (*leave)();                         ///< The tree that it has joined or leads.
  bool (*lead)(const char* runtime);       ///< A tree of its own.
  int (*sweep)(const char* runtime);       ///< How many trees are alive; -1: failed.
  bool (*make_cache)(const char* folder);  ///< And closes it.
};

/// The name of the function that gives them.
inline constexpr const char* another_copy = "another_copy";

}  // namespace lastref::pretend
