// Device memory of the emulated devices: one arena of reserved host address space.
//
// A device pointer is the host pointer of the same byte, so the HIP layer copies with memcpy and the executors
// load and store directly. Every address in [arena_begin(), arena_end()) is mapped, readable and writable:
// whatever a kernel does inside the arena is safe for the host process; anything outside is a memory fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace hkc::emu {

/// One device allocation. [begin, begin + size) is what the user asked for.
struct Allocation {
    uint64_t begin = 0;
    uint64_t size = 0;
    uint64_t id = 0;  ///< 1, 2, 3 ... in order of allocation; never reused.
    bool freed = false;  ///< Released, its range still in quarantine.
    int owner = 0;  ///< Device ordinal; host_owner for pinned host memory.
    bool managed = false;  ///< Of hipMallocManaged.
    uint32_t flags = 0;  ///< As the client gave them.

    uint64_t end() const { return begin + size; }
    bool contains(uint64_t address, uint64_t bytes) const {
        return address >= begin && bytes <= size && address - begin <= size - bytes;
    }
};

/// Memory use, in bytes except for `live_allocations`.
struct MemoryStatistics {
    uint64_t capacity = 0;
    uint64_t live_bytes = 0;
    uint64_t peak_bytes = 0;
    uint64_t live_allocations = 0;
};

class MemoryMap {
 public:
    static constexpr uint64_t alignment = 256;  ///< Of every allocation, as hipMalloc promises at least.
    static constexpr uint64_t red_zone = 256;  ///< Unowned bytes on both sides of every allocation.
    static constexpr int host_owner = -1;

    /// Reserves the arena. `capacity` bounds the live bytes; 0 takes the host's memory (or its cgroup limit).
    explicit MemoryMap(uint64_t capacity = 0);
    ~MemoryMap();
    MemoryMap(const MemoryMap&) = delete;
    MemoryMap& operator=(const MemoryMap&) = delete;

    uint64_t arena_begin() const { return arena_begin_; }
    uint64_t arena_end() const { return arena_end_; }
    bool in_arena(uint64_t address, uint64_t bytes) const {
        return address >= arena_begin_ && address <= arena_end_ && bytes <= arena_end_ - address;
    }

    /// A new range of at least one byte, aligned to max(align, 256); nullptr if out of memory.
    void* allocate(size_t bytes, int owner = 0, size_t align = alignment, uint32_t flags = 0,
                   bool managed = false);

    /// Frees the allocation that begins at `p`; false if there is no such live allocation. Its range stays
    /// in quarantine (so that a use after free is seen) until other frees push it out.
    bool release(void* p);

    /// Frees all allocations of a device.
    void release_all(int owner);

    /// The nearest allocation, live or quarantined, that begins at or below `address`; nullopt if there is none.
    /// A copy, since another thread may free the allocation meanwhile.
    std::optional<Allocation> find(uint64_t address) const;

    MemoryStatistics statistics() const;

    /// Keeps freed ranges out of use: none leaves quarantine while a Pin exists.
    class Pin {
     public:
        explicit Pin(MemoryMap& map);
        ~Pin();
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;

     private:
        MemoryMap& map_;
    };

 private:
    void evict_quarantine();
    void insert_hole(uint64_t begin, uint64_t size);

    uint64_t arena_begin_ = 0;
    uint64_t arena_end_ = 0;
    uint64_t mapped_bytes_ = 0;
    uint64_t next_id_ = 1;
    uint64_t quarantined_bytes_ = 0;
    unsigned pins_ = 0;
    MemoryStatistics statistics_;
    mutable std::shared_mutex mutex_;
    std::map<uint64_t, Allocation> allocations_;  ///< By begin.
    std::map<uint64_t, uint64_t> holes_;  ///< Free address ranges: begin -> size.
    std::map<uint64_t, uint64_t> quarantine_;  ///< Order of release -> begin of the allocation.
    uint64_t releases_ = 0;
};

}  // namespace hkc::emu
