// Instructions whose registers M0 moves: VGPR indexing, and the scalar relative moves.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "wave.h"

namespace hkc::emu {

/// Copies of instructions with the register numbers that they have for some value of M0, kept for the dispatch: checked
/// mode remembers instructions by address. Thread safe.
class RelocatedCode {
 public:
    /// The copy for M0's value `key`, which `change` makes of the original; nullptr if it says that it can't.
    template <class Change>
    const Instruction* find(const Instruction& in, uint32_t key, Change change) {
        std::lock_guard lock(mutex_);
        std::unique_ptr<Instruction>& copy = copies_[{&in, key}];
        if (copy) return copy.get();
        auto made = std::make_unique<Instruction>(in);
        made->flags |= flag_relocated;
        if (!change(*made)) return nullptr;
        copy = std::move(made);
        return copy.get();
    }

 private:
    std::mutex mutex_;
    std::map<std::pair<const Instruction*, uint32_t>, std::unique_ptr<Instruction>> copies_;
};

/// `in` as VGPR indexing makes it: itself, or a copy. nullptr if that has trapped.
const Instruction* indexed_form(Wave& wave, const Instruction& in);

/// Whether the wave's vector instructions have indexed registers.
inline bool vgpr_indexing(const Wave& w) {
    return w.mode & mode_bits::gpr_idx_en;
}

}  // namespace hkc::emu
