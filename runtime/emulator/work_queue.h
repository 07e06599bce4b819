// Which workgroup a thread runs next.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace hkc::emu {

/// Hands out 0 ... total - 1. Threads take short runs of consecutive numbers off a common counter, so that workgroups
/// start in about the order in which hardware starts them (kernels that wait for earlier workgroups rely on it); when
/// the counter is at its end, idle threads steal half of what another one has left. A single thread gets all in order.
class WorkQueue {
 public:
    WorkQueue(uint64_t total, unsigned threads)
        : total_(total),
          threads_(threads),
          run_(std::clamp<uint64_t>(total / (uint64_t{threads} * runs_per_thread), 1, longest_run)),
          own_(std::make_unique<Run[]>(threads)) {}

    /// The next number for `thread`; nullopt when nothing is left to start.
    std::optional<uint64_t> next(unsigned thread) {
        Run& own = own_[thread];
        {
            const std::lock_guard lock(own.mutex);
            if (own.begin < own.end) return own.begin++;
        }
        const uint64_t begin = counter_.fetch_add(run_, std::memory_order_relaxed);
        if (begin < total_) return give(own, begin, std::min(begin + run_, total_));
        for (unsigned i = 1; i < threads_; ++i) {
            Run& victim = own_[(thread + i) % threads_];
            std::unique_lock lock(victim.mutex);
            if (victim.begin == victim.end) continue;
            const uint64_t end = victim.end;
            victim.end -= (end - victim.begin + 1) / 2;
            const uint64_t stolen = victim.end;
            lock.unlock();
            return give(own, stolen, end);
        }
        return std::nullopt;
    }

 private:
    static constexpr uint64_t runs_per_thread = 32, longest_run = 32;

    struct alignas(64) Run {
        std::mutex mutex;
        uint64_t begin = 0, end = 0;
    };

    /// Keeps [begin + 1, end) as the thread's own run and gives its first number.
    static uint64_t give(Run& own, uint64_t begin, uint64_t end) {
        const std::lock_guard lock(own.mutex);
        own.begin = begin + 1;
        own.end = end;
        return begin;
    }

    const uint64_t total_;
    const unsigned threads_;
    const uint64_t run_;
    std::atomic<uint64_t> counter_{0};
    std::unique_ptr<Run[]> own_;
};

}  // namespace hkc::emu
