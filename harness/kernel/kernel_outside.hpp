// KernelOutside: what an outside party does in the kernel world.
#pragma once

#include <string>
#include <vector>

#include "harness/kernel/process.hpp"
#include "harness/scenario/outside.hpp"

namespace lastref::harness {

class KernelOutside final : public Outside {
 public:
  KernelOutside(const RunContext& context, SerialInterceptor& interceptor) noexcept
      : context_(context), interceptor_(interceptor) {}

  bool unlink(const std::string& path) override;
  bool rmdir(const std::string& path) override;
  bool make_folder(const std::string& path, std::uint32_t mode) override;
  bool symlink(const std::string& target, const std::string& path) override;
  bool write(const std::string& path, const std::string& bytes) override;
  std::vector<std::string> list(const std::string& folder) override;
  void change_mode(const std::string& path, std::uint32_t mode) override;
  bool reuse_pid(os::Pid pid) override;

 private:
  const RunContext& context_;
  SerialInterceptor& interceptor_;
};

}  // namespace lastref::harness
