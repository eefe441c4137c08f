// service: a pool in a program that runs for weeks; any thread may use it.
#include <thread>
#include <vector>

#include <lastref/pool.hpp>

struct Model {
  std::vector<double> weights;
};
Model load() {
  return {std::vector<double>(1'000'000, 0.5)};
}

double score(const Model& model, lastref::View<const double, 1> input) {
  return model.weights[0] * input(0);
}

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  lastref::on_message([](const lastref::Message& /*each*/) { /* its own log */ });
  lastref::Pool pool({.workers = 2,
                      .state = lastref::state<load>,
                      .max_tasks_per_worker = 10'000,
                      .threads_per_worker = 1});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&pool] {
      for (int round = 0; round < 20; ++round) {
        auto input = pool.zeros<double>(100'000).value();
        pool.submit<score>(input.read_only()).get().value();  // The model is the worker's own.
        // Here the input's file is removed.
      }
    });
  }
}  // Memory, descriptors and files are what they were after the first round.
