#include "memory_map.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

namespace hkc::emu {

namespace {

constexpr uint64_t page = 4096;
// Released ranges are reused only after this many bytes were released later, or when space runs out.
constexpr uint64_t quarantine_limit = uint64_t{64} << 20;
constexpr size_t quarantine_records = 4096;

constexpr uint64_t round_up(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
}

// The memory this process may use: the machine's, or its cgroup's limit if that is lower.
uint64_t host_memory() {
    uint64_t bytes =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(path);
        uint64_t limit = 0;
        if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
    }
    return bytes / page * page;
}

}  // namespace

MemoryMap::MemoryMap(uint64_t capacity) {
    statistics_.capacity = capacity != 0 ? capacity : host_memory();
    // Address space is free of charge (MAP_NORESERVE): twice the capacity leaves room for quarantine and red
    // zones. A host that limits address space gets the largest arena it allows.
    for (uint64_t bytes = round_up(2 * statistics_.capacity + (uint64_t{1} << 30), page); bytes >= 64 * page;
         bytes = bytes / 2 / page * page) {
        void* base =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        mapped_bytes_ = bytes;
        arena_begin_ = reinterpret_cast<uint64_t>(base);
        // The last page stays unowned, so that a wide access to the arena's last bytes is safe as well.
        arena_end_ = arena_begin_ + bytes - page;
        statistics_.capacity = std::min(statistics_.capacity, bytes - page);
        holes_[arena_begin_] = arena_end_ - arena_begin_;
        return;
    }
    statistics_.capacity = 0;
}

MemoryMap::~MemoryMap() {
    if (mapped_bytes_ != 0) munmap(reinterpret_cast<void*>(arena_begin_), mapped_bytes_);
}

void* MemoryMap::allocate(size_t bytes, int owner, size_t align, uint32_t flags, bool managed) {
    std::unique_lock lock(mutex_);
    const uint64_t size = std::max<uint64_t>(bytes, 1);
    align = std::max<size_t>(align, alignment);
    if (size > statistics_.capacity - statistics_.live_bytes) return nullptr;
    for (int attempt = 0; attempt < 2; ++attempt) {
        for (const auto& [begin, hole] : holes_) {
            // A hole keeps a red zone at its front; the padding behind the user's bytes is the one behind.
            const uint64_t user = round_up(begin + red_zone, align);
            const uint64_t needed = user - begin + round_up(size, alignment) + red_zone;
            if (needed > hole) continue;
            const uint64_t end = user + round_up(size, alignment);
            const uint64_t hole_begin = begin, hole_end = begin + hole;
            holes_.erase(hole_begin);
            insert_hole(hole_begin, user - red_zone - hole_begin);
            insert_hole(end, hole_end - end);
            allocations_[user] = Allocation{user, size, next_id_++, false, owner, managed, flags};
            statistics_.live_bytes += size;
            statistics_.live_allocations += 1;
            statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
            return reinterpret_cast<void*>(user);
        }
        // No hole is large enough: give up the quarantine, then look once more.
        if (pins_ != 0 || quarantine_.empty()) return nullptr;
        while (!quarantine_.empty()) evict_quarantine();
    }
    return nullptr;
}

bool MemoryMap::release(void* p) {
    std::unique_lock lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<uint64_t>(p));
    if (found == allocations_.end() || found->second.freed) return false;
    Allocation& allocation = found->second;
    allocation.freed = true;
    statistics_.live_bytes -= allocation.size;
    statistics_.live_allocations -= 1;
    const uint64_t first = round_up(allocation.begin, page);
    const uint64_t last = allocation.end() / page * page;
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    quarantine_[releases_++] = allocation.begin;
    quarantined_bytes_ += allocation.size;
    while (pins_ == 0 && (quarantined_bytes_ > quarantine_limit || quarantine_.size() > quarantine_records) &&
           quarantine_.size() > 1) {
        evict_quarantine();
    }
    return true;
}

void MemoryMap::release_all(int owner) {
    std::vector<uint64_t> begins;
    {
        std::shared_lock lock(mutex_);
        for (const auto& [begin, allocation] : allocations_) {
            if (allocation.owner == owner && !allocation.freed) begins.push_back(begin);
        }
    }
    for (const uint64_t begin : begins) release(reinterpret_cast<void*>(begin));
}

// Returns the oldest quarantined range to the holes.
void MemoryMap::evict_quarantine() {
    const auto oldest = quarantine_.begin();
    const auto found = allocations_.find(oldest->second);
    const uint64_t begin = found->second.begin - red_zone;
    const uint64_t end = found->second.begin + round_up(found->second.size, alignment);
    quarantined_bytes_ -= found->second.size;
    allocations_.erase(found);
    quarantine_.erase(oldest);
    insert_hole(begin, end - begin);
}

// Adds a hole and joins it with its neighbours.
void MemoryMap::insert_hole(uint64_t begin, uint64_t size) {
    if (size == 0) return;
    auto next = holes_.lower_bound(begin);
    if (next != holes_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == begin) {
            begin = previous->first;
            size += previous->second;
            holes_.erase(previous);
        }
    }
    next = holes_.find(begin + size);
    if (next != holes_.end()) {
        size += next->second;
        holes_.erase(next);
    }
    holes_[begin] = size;
}

std::optional<Allocation> MemoryMap::find(uint64_t address) const {
    std::shared_lock lock(mutex_);
    const auto above = allocations_.upper_bound(address);
    if (above == allocations_.begin()) return std::nullopt;
    return std::prev(above)->second;
}

MemoryStatistics MemoryMap::statistics() const {
    std::shared_lock lock(mutex_);
    return statistics_;
}

MemoryMap::Pin::Pin(MemoryMap& map) : map_(map) {
    std::unique_lock lock(map_.mutex_);
    ++map_.pins_;
}

MemoryMap::Pin::~Pin() {
    std::unique_lock lock(map_.mutex_);
    --map_.pins_;
}

}  // namespace hkc::emu
