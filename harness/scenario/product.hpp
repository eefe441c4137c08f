// Product: the operations that a role requests of the product, recorded in the journal.
//
// Each operation is recorded when it begins and when it ends, with its error. The oracles count
// from these records alone, and use nothing that the tracker reports.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/resource.hpp>
#include <lastref/tracker_client.hpp>

namespace lastref::harness {

class Stage;

/// For a call whose failure does not change what its role does next.
template <typename T>
void may_fail(const Result<T>& /*done*/) {}

/// The first failure of several calls. All calls are made, in this order, even if some fail.
Status first_failure(std::initializer_list<Status> done);

/// Receives the records of operations.
class OperationLog {
 public:
  OperationLog() = default;
  OperationLog(const OperationLog&) = delete;
  OperationLog& operator=(const OperationLog&) = delete;
  virtual ~OperationLog() = default;

  /// `text` is the resource as to_text formats it, or the question and answer of an operation of
  /// the scenario's own.
  virtual void note(std::string_view operation,
                    const std::string& text,
                    bool begins,
                    int error) = 0;
};

/// The product as one process of a run uses it. Functions that return a Status return that of the
/// product.
class Product {
 public:
  /// Both outlive it.
  Product(Stage& stage, OperationLog& log) noexcept : stage_(stage), log_(log) {}

  /// Becomes the root of a new tree.
  [[nodiscard]] Status lead();
  /// Joins the tree of the parent role.
  [[nodiscard]] Status join();
  /// Joins a tree that another role has led.
  [[nodiscard]] Status join(const std::string& tree);
  [[nodiscard]] Status register_name(const Resource& resource,
                                     const std::optional<Identity>& identity = {});
  [[nodiscard]] Status hold(const Resource& resource);
  [[nodiscard]] Status release(const Resource& resource);
  [[nodiscard]] Status forget(const Resource& resource);
  /// Creates the thing itself: a file of a few bytes, a folder, a semaphore, a shared memory
  /// object.
  [[nodiscard]] Status make(const Resource& resource);
  /// Refutes "a name that is held is there" if the object itself does not exist.
  void must_exist(const Resource& resource);
  /// Ends this process's membership in an orderly way.
  void leave();
  /// Any other operation of the product: records `name` before and after `act`, and returns the
  /// result of `act`. Operations can be nested; inner ones are recorded in order.
  [[nodiscard]] Status operation(std::string_view name, const std::function<Status()>& act);
  /// The same for oracles that need more: records the question, and the answer of `act`.
  [[nodiscard]] Status operation_with_answer(std::string_view name,
                                             const std::string& asked,
                                             const std::function<Result<std::string>()>& act);
  /// Only after lead or join.
  tracker::Client& client() noexcept { return *client_; }
  bool has_client() const noexcept { return client_ != nullptr; }

  /// A file, folder, semaphore or shm name of this run. `name` without slash.
  Resource file(const std::string& name) const;
  Resource folder(const std::string& name) const;
  Resource semaphore(const std::string& name) const;
  Resource shm(const std::string& name) const;

 private:
  Status noted(std::string_view operation,
               const Resource& resource,
               const std::function<Status()>& act);

  Stage& stage_;
  OperationLog& log_;
  std::unique_ptr<tracker::Client> client_;
};

}  // namespace lastref::harness
