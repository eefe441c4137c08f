// ExclusiveLock: the lock that systemd-tmpfiles takes on a folder before it removes old files in
// it. Tests that write one file in several processes take it, too.
#pragma once

#include <string>

namespace lastref::pretend {

class ExclusiveLock {
 public:
  explicit ExclusiveLock(const std::string& folder);
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;
  ~ExclusiveLock();

  /// False while another process has a lock.
  bool can_be_had() const;
  /// Waits for it.
  void take() const;
  void give_back() const;

 private:
  int folder_;
};

}  // namespace lastref::pretend
