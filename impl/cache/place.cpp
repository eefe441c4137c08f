#include "impl/cache/place.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <lastref/temp_folder.hpp>

#include "impl/os/folders.hpp"

namespace lastref::cache {
namespace {

constexpr std::size_t name_length_max = 255;  // NAME_MAX

/// File systems whose maps and record locks end at this machine. Numbers of statfs(2).
constexpr std::array<std::uint64_t, 13> on_a_network = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB 2
    0x517b,      // SMB
    0x5346414f,  // AFS of OpenAFS
    0x6b414653,  // AFS of the kernel
    0x00c36400,  // Ceph
    0x01021997,  // 9P
    0x73757245,  // Coda
    0x564c,      // NCP
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
};

bool is(const Error& error, std::errc code) {
  return error.code == code;
}

Result<std::string> default_folder(os::Os& os) {
  // A relative path is to be ignored, says the specification.
  if (const auto home = os.environment("XDG_CACHE_HOME"); home && home->starts_with('/')) {
    return *home + "/lastref";
  }
  const auto home = os.environment("HOME");
  if (!home || home->empty()) {
    return failure(std::errc::no_such_file_or_directory,
                   "a folder for caches: neither $XDG_CACHE_HOME nor $HOME is set");
  }
  return *home + "/.cache/lastref";
}

}  // namespace

Result<std::string> cache_folder(os::Os& os, const std::optional<std::string>& wanted) {
  std::string named = wanted.value_or("");
  if (named.empty()) {
    LASTREF_TRY(usual, default_folder(os));
    named = std::move(usual);
  }
  LASTREF_TRY(folder, absolute_path(os, named));
  if (Status made = os::make_with_parents(os, folder);
      !made && !is(made.error(), std::errc::file_exists)) {
    return tl::unexpected<Error>(std::move(made).error());
  }
  LASTREF_CHECK(os::check_is_safe(os, folder));
  LASTREF_TRY(kind, os.file_system(folder));
  if (std::ranges::find(on_a_network, kind) != on_a_network.end()) {
    return failure(std::errc::not_supported, folder + " (on a network)");
  }
  return folder;
}

Result<std::string> path_in(const std::string& folder, const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.size() > name_length_max ||
      name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
    return failure(std::errc::invalid_argument, "no name of a file: " + name);
  }
  return folder + '/' + name;
}

Result<OwnFile> OwnFile::make(os::Os& os,
                              std::shared_ptr<References> references,
                              const std::string& folder,
                              const char* ending) {
  LASTREF_TRY(chance, os::random_hex(os));
  Resource resource = {
      .type = ResourceType::file,
      .name = folder + '/' + std::to_string(os.process_id()) + '-' + chance + ending};
  LASTREF_CHECK(references->register_name(resource));
  OwnFile made(os, std::move(references), std::move(resource));
  auto open = os::open_file(os, made.path(), {.write = true, .create = true});
  if (!open) {
    // Nothing of ours has the name.
    made.hand_over();
    return tl::unexpected<Error>(std::move(open).error());
  }
  made.open_ = *std::move(open);
  if (auto status = os.status(made.open_.get())) {
    made.status_ = *status;
    return made;
  } else {
    // It is ours, and of no use. What cannot be removed here the tracker removes.
    static_cast<void>(os::discard(os, made.path()));
    static_cast<void>(made.reference_.release());
    return tl::unexpected<Error>(std::move(status).error());
  }
}

Status OwnFile::remove() noexcept {
  open_.close_quietly();
  if (!reference_) {
    return ok();
  }
  if (!is_ours()) {
    reference_.hand_over();
    return ok();
  }
  const auto there = os_->status_at(path());
  if (there && (there->device != status_.device || there->inode != status_.inode)) {
    // Somebody has put another file there, which the tracker would take for ours.
    hand_over();
    return ok();
  }
  Status removed = ok();
  if (there) {
    removed = os::discard(*os_, path());
  } else if (!is(there.error(), std::errc::no_such_file_or_directory)) {
    removed = tl::unexpected<Error>(there.error());
  }
  const Status released = reference_.release();
  return removed ? released : removed;
}

void OwnFile::remove_quietly() noexcept {
  if (const Status removed = remove(); !removed) {
    os::report_quietly(*os_, "lastref cache: left to the tracker: " + describe(removed.error()));
  }
}

void OwnFile::hand_over() noexcept {
  if (reference_) {
    static_cast<void>(references_->forget(reference_.resource()));
    reference_.hand_over();
  }
}

Result<bool> publish(os::Os& os,
                     const std::shared_ptr<References>& references,
                     const std::string& path,
                     const PublishOptions& options,
                     const std::function<Status(os::Fd)>& write) {
  LASTREF_TRY(file, OwnFile::make(os, references, path.substr(0, path.rfind('/')), ".part"));
  os::UniqueFd open = file.take_open();
  LASTREF_CHECK(write(open.get()));
  if (options.is_durable) {
    LASTREF_CHECK(os::sync_file(os, open.get()));
  }
  LASTREF_CHECK(open.close());
  const os::Place from = file.path();
  const os::Place to = path;
  const Status renamed = options.overwrite ? os.rename(from, to) : os.rename_new(from, to);
  if (renamed) {
    file.hand_over();
    return true;
  }
  if (!options.overwrite && is(renamed.error(), std::errc::file_exists)) {
    return false;
  }
  return tl::unexpected<Error>(renamed.error());
}

}  // namespace lastref::cache
