// arguments_by_clang: a list in braces is one argument of a task, whichever compiler reads it.
#include <cstdio>

#include <lastref/task.hpp>

int main() {
  const lastref::List list{1, 2, 3};
  const lastref::List one_list(1, lastref::Value(list));
  const lastref::Task task{"f", {list}};
  const lastref::Task named{.function = "f", .arguments = {list}};
  const lastref::Task each{"f", list};
  std::printf(
      "%zu %zu %zu\n", task.arguments.size(), named.arguments.size(), each.arguments.size());
  return task.arguments == one_list && named.arguments == one_list && each.arguments == list ? 0
                                                                                             : 1;
}
