// A type of your own as an argument and a result of tasks.
#include <cstdio>
#include <string>
#include <vector>

#include <lastref/lastref.hpp>

namespace {

struct Person {
  std::string name;
  std::vector<double> scores = {};
};

}  // namespace

template <>
struct lastref::Codec<Person> {
  static void write(Writer& to, const Person& person) { to.write(person.name, person.scores); }
  static Result<Person> read(Reader& from) {
    LASTREF_TRY(name, from.read<std::string>());
    LASTREF_TRY(scores, from.read<std::vector<double>>());
    return Person{std::move(name), std::move(scores)};
  }
};

namespace {

Person doubled(Person person) {
  for (double& score : person.scores) {
    score *= 2;
  }
  return person;
}

}  // namespace

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  lastref::Pool pool({.workers = 2});
  const auto all =
      pool.map<doubled>(std::vector<Person>{{.name = "Ada", .scores = {1, 2}}, {.name = "Alan"}});
  if (!all) {
    return lastref::fail(all.error());
  }
  std::printf("%s %g, %s\n", (*all)[0].name.c_str(), (*all)[0].scores[1], (*all)[1].name.c_str());
}
