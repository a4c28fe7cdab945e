#pragma once
#include <cstdint>

/// What the library calls of Windows' kernel32, declared under names of its own: <windows.h> would bring its macros into every
/// program, and C linkage would take the names from a program's globals. Those that return an int return 0 if they fail.
namespace gradual::windows {

struct MemoryStatus {  ///< MEMORYSTATUSEX
  std::uint32_t bytes_of_this = sizeof(MemoryStatus), percent_used = 0;
  std::uint64_t physical = 0, free_physical = 0;
  std::uint64_t to_commit = 0, free_to_commit = 0;  ///< memory and page file that may be promised
  std::uint64_t addresses = 0, free_addresses = 0, extended = 0;
};
struct ProcessMemory {  ///< PROCESS_MEMORY_COUNTERS
  std::uint32_t bytes_of_this = sizeof(ProcessMemory), page_faults = 0;
  std::uint64_t peak_resident = 0, resident = 0, pools[4] = {}, committed = 0, peak_committed = 0;
};
struct FileTime {  ///< FILETIME, in steps of 100 ns
  std::uint32_t low = 0, high = 0;
};
inline constexpr std::uint32_t replace_existing = 1, write_through = 8;         // MoveFileExW
inline constexpr std::uint32_t utf8 = 65001, refuse_invalid_characters = 8;     // MultiByteToWideChar
inline constexpr std::uint32_t access_denied = 5, sharing_violation = 32;        // GetLastError
inline constexpr std::uint32_t error_output = 0xfffffff4, escape_sequences = 4;  // GetStdHandle, SetConsoleMode

int console_mode(void* console, std::uint32_t* mode) __asm__("GetConsoleMode");
void* current_process() __asm__("GetCurrentProcess");
std::uint32_t last_error() __asm__("GetLastError");
int memory_status(MemoryStatus*) __asm__("GlobalMemoryStatusEx");
int process_memory(void* process, ProcessMemory*, std::uint32_t bytes) __asm__("K32GetProcessMemoryInfo");
int process_times(void* process, FileTime* begun, FileTime* ended, FileTime* kernel, FileTime* user) __asm__("GetProcessTimes");
int move_file(const wchar_t* from, const wchar_t* to, std::uint32_t how) __asm__("MoveFileExW");
int set_console_mode(void* console, std::uint32_t mode) __asm__("SetConsoleMode");
void sleep_milliseconds(std::uint32_t) __asm__("Sleep");
void* standard_handle(std::uint32_t which) __asm__("GetStdHandle");
int to_wide(std::uint32_t code_page, std::uint32_t how, const char* from, int bytes, wchar_t* to, int room)
    __asm__("MultiByteToWideChar");

}  // namespace gradual::windows
