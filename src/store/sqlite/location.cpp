#include "store/sqlite/location.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>

#include <ordo/error.hpp>

#include "base/redact.h"
#include "base/shorten.h"

namespace ordo::store::sqlite {
namespace {

struct RemoteFileSystem {
  std::uint32_t magic;
  const char* name;
};

// Not all of them stand in <linux/magic.h>.
constexpr RemoteFileSystem kRemoteFileSystems[] = {
    {NFS_SUPER_MAGIC, "NFS"}, {0x517b, "SMB"},
    {0xff534d42, "CIFS"},     {0xfe534d42, "SMB2"},
    {0x65735546, "FUSE"},     {CEPH_SUPER_MAGIC, "Ceph"},
    {AFS_SUPER_MAGIC, "AFS"}, {CODA_SUPER_MAGIC, "Coda"},
    {0x0bd00bd0, "Lustre"},   {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"},    {V9FS_MAGIC, "9P"},
};

[[noreturn]] void refuse(ErrorKind kind, const std::string& path, const std::string& why) {
  throw Error(kind, "cannot open the database " + in_quotes(path) + ": " + why);
}

void refuse_remote(const std::filesystem::path& directory, const std::string& path) {
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) return;  // opening the file will say why
  const auto magic = static_cast<std::uint32_t>(facts.f_type);
  const auto* const found = std::find_if(std::begin(kRemoteFileSystems), std::end(kRemoteFileSystems),
                                         [&](const RemoteFileSystem& known) { return known.magic == magic; });
  if (found == std::end(kRemoteFileSystems)) return;
  refuse(ErrorKind::unsupported, path,
         std::string("it lies on ") + found->name +
             ", where locks and shared memory cannot be relied on; use a local disk or a database server");
}

}  // namespace

Location parse_location(std::string_view text) {
  static constexpr std::string_view kMode = "mode=";
  const auto question = text.find('?');
  Location location{.path = std::string(text.substr(0, question))};
  if (question == std::string_view::npos) return location;
  const auto setting = text.substr(question + 1);
  const auto mode = setting.starts_with(kMode) ? setting.substr(kMode.size()) : std::string_view();
  if (mode == "0660") {
    location.mode = 0660;
  } else if (mode != "0600") {
    refuse(ErrorKind::invalid_argument, location.path,
           in_quotes("?" + redact(setting)) +
               " is no setting; ?mode=0600 (the owner alone) and "
               "?mode=0660 (its group, too) are");
  }
  return location;
}

std::string locate(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty() || path == ":memory:") {
    refuse(ErrorKind::invalid_argument, path, "name a file: sqlite:FILE");
  }
  std::error_code error;
  const auto known = fs::canonical(path, error);
  if (!error) {
    if (!fs::is_regular_file(known)) refuse(ErrorKind::invalid_argument, path, "it is not a file; name one");
    refuse_remote(known.parent_path(), path);
    return known.string();
  }
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    refuse(ErrorKind::invalid_argument, path, "it is a symbolic link to nothing; name the file itself");
  }
  const auto parent = fs::path(path).parent_path();
  const auto directory = fs::canonical(parent.empty() ? fs::path(".") : parent, error);
  if (error) {
    refuse(ErrorKind::invalid_argument, path,
           "its directory cannot be entered (" + error.message() + "); create it or name another");
  }
  refuse_remote(directory, path);
  return (directory / fs::path(path).filename()).string();
}

}  // namespace ordo::store::sqlite
