// Saving under faults: each system call of a save fails, is cut short, is interrupted or kills the process.
// A reader finds exactly the old or the new content.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/files/atomic_file.hpp>

namespace {

enum class Fault { none, error, interruption, kill };

/// The faults of the system calls below while a save runs. A save makes the calls in a fixed order, counted from 0.
struct Faults {
  bool armed = false;
  Fault kind = Fault::none;
  int at = -1, interruptions = 0;
  std::size_t most_per_write = SIZE_MAX;
  int created_with = 0;  ///< the mode
  std::vector<std::string> calls = {};
  std::function<void()> meanwhile = {};  ///< done once, after the first write

  /// Records a call. Returns whether it must fail.
  bool strike(const char* call) {
    if (!armed) return false;
    calls.emplace_back(call);
    if (static_cast<int>(calls.size()) - 1 != at) return false;
    if (kind == Fault::kill) ::raise(SIGKILL);
    errno = kind == Fault::interruption ? EINTR : EIO;
    return kind != Fault::none;
  }
} faults;

}  // namespace

// The program's own definitions take precedence over the C library's.
extern "C" {
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  if (faults.armed && mode != 0) faults.created_with = mode;
  return faults.strike("open") ? -1 : static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int file, const void* data, std::size_t count) {
  if (faults.armed && faults.interruptions > 0) {
    --faults.interruptions;
    errno = EINTR;
    return -1;
  }
  if (faults.strike("write")) return -1;
  const ssize_t written = ::syscall(SYS_write, file, data, faults.armed ? std::min(count, faults.most_per_write) : count);
  if (faults.meanwhile) std::exchange(faults.meanwhile, {})();
  return written;
}
int fsync(int file) { return faults.strike("fsync") ? -1 : static_cast<int>(::syscall(SYS_fsync, file)); }
int close(int file) {
  const bool failed = faults.strike("close");
  const int error = errno, result = static_cast<int>(::syscall(SYS_close, file));
  return failed ? errno = error, -1 : result;
}
int rename(const char* from, const char* to) noexcept {
  return faults.strike("rename") ? -1 : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace {

using gradual::FileError;
using gradual::write_atomically;

struct AtomicFile : testing::Test {
  std::filesystem::path folder;
  std::string file;
  const std::string old_content = std::string(300, 'o'), new_content = std::string(500, 'n');

  AtomicFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gradual_atomic_XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    file = (folder / "file").string();
    save(old_content);
  }
  ~AtomicFile() override {
    faults = {};
    std::filesystem::remove_all(folder);
  }

  void save(const std::string& content) const { write_atomically(file, std::as_bytes(std::span(content))); }
  std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::ptrdiff_t entries() const { return std::distance(std::filesystem::directory_iterator(folder), {}); }

  /// Returns the system calls of one undisturbed save of the new content, written in pieces of 200 bytes.
  std::vector<std::string> calls_of_a_save() const {
    faults = {.armed = true, .most_per_write = 200};
    save(new_content);
    return std::exchange(faults, {}).calls;
  }
};

TEST_F(AtomicFile, ReplacesTheContent) {
  save(new_content);
  EXPECT_EQ(content(), new_content);
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, ShortAndInterruptedWritesAreContinued) {
  faults = {.armed = true, .interruptions = 3, .most_per_write = 7};
  save(new_content);
  faults.armed = false;
  EXPECT_EQ(content(), new_content);
}

TEST_F(AtomicFile, ASignalDuringAnyCallDoesNotEndASave) {  // rename is not interrupted
  const std::vector<std::string> calls = calls_of_a_save();
  for (int at = 0; at < static_cast<int>(calls.size()); ++at) {
    if (calls[static_cast<std::size_t>(at)] == "rename") continue;
    save(old_content);
    faults = {.armed = true, .kind = Fault::interruption, .at = at, .most_per_write = 200};
    EXPECT_NO_THROW(save(new_content)) << "call " << at;
    faults = {};
    EXPECT_EQ(content(), new_content) << "call " << at;
    EXPECT_EQ(entries(), 1);
  }
}

TEST_F(AtomicFile, SyncsTheFileBeforeTheRenameAndTheFolderAfter) {
  EXPECT_EQ(calls_of_a_save(), (std::vector<std::string>{"open", "open", "write", "write", "write", "fsync", "close",
                                                         "rename", "fsync", "close"}));
}

TEST_F(AtomicFile, AFaultInAnyCallLeavesTheOldOrTheNew) {
  const std::vector<std::string> calls = calls_of_a_save();
  const auto renamed = std::find(calls.begin(), calls.end(), "rename") - calls.begin();
  for (int at = 0; at < static_cast<int>(calls.size()); ++at) {
    save(old_content);
    faults = {.armed = true, .kind = Fault::error, .at = at, .most_per_write = 200};
    std::string error;
    try {
      save(new_content);
    } catch (const FileError& caught) {
      error = caught.what();
    }
    faults = {};
    const std::string place = "call " + std::to_string(at) + ", " + calls[static_cast<std::size_t>(at)];
    EXPECT_EQ(entries(), 1) << place;
    EXPECT_EQ(content(), at <= renamed ? old_content : new_content) << place;
    if (at + 1 < static_cast<int>(calls.size())) {  // closing the folder is the last, and loses nothing
      EXPECT_TRUE(error.starts_with(file) && error.ends_with("Input/output error")) << place << ": " << error;
    }
    EXPECT_EQ(error.find("was replaced, but may be lost") != error.npos, at == renamed + 1) << place << ": " << error;
  }
}

TEST_F(AtomicFile, AKillAtAnyCallLeavesTheOldOrTheNew) {
  const auto calls = static_cast<int>(calls_of_a_save().size());
  bool old_seen = false, new_seen = false;
  for (int at = 0; at < calls; ++at) {
    save(old_content);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      faults = {.armed = true, .kind = Fault::kill, .at = at, .most_per_write = 200};
      save(new_content);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "call " << at;
    const std::string found = content();
    EXPECT_TRUE(found == old_content || found == new_content) << "call " << at;
    old_seen |= found == old_content;
    new_seen |= found == new_content;
    save(new_content);  // files left behind by the dead process are no obstacle
    EXPECT_EQ(content(), new_content);
  }
  EXPECT_TRUE(old_seen && new_seen);
}

TEST_F(AtomicFile, SavesAtTheSameTimeDoNotMix) {
  const std::string other_content(700, 'm');
  faults = {.armed = true, .most_per_write = 200, .meanwhile = [&] {
              save(other_content);
              EXPECT_EQ(content(), other_content);
            }};
  save(new_content);  // this one is renamed last
  faults = {};
  EXPECT_EQ(content(), new_content);
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, WhatAProcessOfTheSameNumberLeftIsNoObstacleAndStays) {
  faults = {.armed = true, .kind = Fault::none};
  std::string beside;
  faults.meanwhile = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path() != file) beside = entry.path().string();
  };
  save(new_content);
  faults = {};
  const std::size_t count = beside.rfind('-') + 1;
  ASSERT_NE(count, 0u);
  const std::string next = beside.substr(0, count) + std::to_string(std::stoi(beside.substr(count)) + 1);
  std::ofstream(next) << "left";
  save(old_content);
  EXPECT_EQ(content(), old_content);
  EXPECT_EQ(entries(), 2);
  EXPECT_EQ(std::filesystem::file_size(next), 4u);
}

TEST_F(AtomicFile, ThreadsThatSaveLeaveOneOfTheirContents) {
  std::vector<std::thread> threads;
  for (char c = 'a'; c < 'e'; ++c)
    threads.emplace_back([this, c] {
      for (int i = 0; i < 20; ++i) save(std::string(static_cast<std::size_t>(c) * 50, c));
    });
  for (std::thread& thread : threads) thread.join();
  const std::string found = content();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found, std::string(static_cast<std::size_t>(found[0]) * 50, found[0]));
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, AFolderInPlaceOfTheFileIsRefused) {
  const std::filesystem::path taken = folder / "taken";
  std::filesystem::create_directory(taken);
  EXPECT_THROW(write_atomically(taken.string(), std::as_bytes(std::span(new_content))), FileError);
  EXPECT_TRUE(std::filesystem::is_directory(taken));
  EXPECT_EQ(entries(), 2);
}

TEST_F(AtomicFile, WhatIsNoRegularFileKeepsItsPlace) {
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(write_atomically(pipe.string(), std::as_bytes(std::span(new_content))), FileError);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(AtomicFile, ALinkLeadsToTheNewContentAndTheModeStays) {
  namespace fs = std::filesystem;
  const fs::path link = folder / "latest";
  fs::create_symlink(fs::path(file).filename(), link);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  faults = {.armed = true};
  write_atomically(link.string(), std::as_bytes(std::span(new_content)));
  faults.armed = false;
  EXPECT_EQ(faults.created_with, 0600) << "until it has the mode of the old file";
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(), new_content);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFile, ALinkThatLeadsNowhereIsNotReplaced) {
  const std::filesystem::path link = folder / "latest";
  std::filesystem::create_symlink("none", link);
  EXPECT_THROW(write_atomically(link.string(), std::as_bytes(std::span(new_content))), FileError);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST_F(AtomicFile, APathThatTheSystemWouldCutShortIsRefused) {
  EXPECT_THROW(write_atomically(file + std::string("\0.new", 5), std::as_bytes(std::span(new_content))), FileError);
  EXPECT_EQ(content(), old_content);
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, ANameMayBeAsLongAsTheSystemTakes) {
  const std::string longest = (folder / std::string(255, 'x')).string();
  write_atomically(longest, std::as_bytes(std::span(new_content)));
  EXPECT_EQ(std::filesystem::file_size(longest), new_content.size());
}

TEST_F(AtomicFile, ANameBesideItHasNoHalfCharacters) {
  const std::string whole(199, 'x'), longer = whole + "\xc3\xa9" + std::string(20, 'y');  // 200 bytes would end in the é
  faults = {.armed = true, .kind = Fault::none};
  std::string beside;
  faults.meanwhile = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path() != file) beside = entry.path().filename().string();
  };
  write_atomically((folder / longer).string(), std::as_bytes(std::span(new_content)));
  faults = {};
  EXPECT_TRUE(beside.starts_with(whole + ".writing-")) << beside;
}

TEST_F(AtomicFile, ANameWithoutAFolderIsOfTheOneThatIsCurrent) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  write_atomically("new", std::as_bytes(std::span(new_content)));
  std::filesystem::current_path(before);
  EXPECT_EQ(std::filesystem::file_size(folder / "new"), new_content.size());
}

TEST_F(AtomicFile, AFolderThatIsNoneIsRefused) {
  EXPECT_THROW(write_atomically(file + "/inside", std::as_bytes(std::span(new_content))), FileError);
  EXPECT_THROW(write_atomically((folder / "none" / "file").string(), std::as_bytes(std::span(new_content))), FileError);
  EXPECT_EQ(content(), old_content);
}

}  // namespace
