// A loaded AMDGPU code object: the ELF image in device memory, its kernels and its source lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dwarf_line.h"
#include "memory_map.h"

namespace hkc::emu {

enum class Arch : uint8_t { gfx942, gfx950 };

const char* arch_name(Arch arch);  ///< "gfx942" or "gfx950".

/// One entry of a kernel's `.args` metadata; offset and size in bytes within the kernarg segment.
struct KernelArgument {
    std::string name;  ///< Empty if the metadata has none.
    std::string value_kind;  ///< "global_buffer", "by_value", "hidden_block_count_x", ...
    std::string address_space;
    uint32_t offset = 0;
    uint32_t size = 0;

    bool hidden() const { return value_kind.starts_with("hidden_"); }
};

/// The 64-byte kernel descriptor, NAME.kd (LLVM AMDGPUUsage, "Code Object V3 Kernel Descriptor").
struct KernelDescriptor {
    uint32_t group_segment = 0;
    uint32_t private_segment = 0;
    uint32_t kernarg_size = 0;
    int64_t entry_offset = 0;  ///< From the descriptor to the first instruction.
    uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    uint16_t properties = 0;
    uint16_t kernarg_preload = 0;  ///< Length in dwords [6:0], offset in dwords [15:7].
};

class CodeObject;

struct Kernel {
    std::string name;
    const CodeObject* object = nullptr;
    uint64_t entry = 0;  ///< Address of the first instruction in device memory.
    KernelDescriptor descriptor;
    std::vector<KernelArgument> arguments;
    uint32_t kernarg_size = 0;
    uint32_t group_segment = 0;
    uint32_t private_segment = 0;
    uint32_t max_flat_workgroup_size = 0;
    uint32_t vgpr_count = 0, agpr_count = 0, sgpr_count = 0;
    uint32_t vgpr_spills = 0, sgpr_spills = 0;
};

/// A global variable that the object defines (an exported STT_OBJECT that is no kernel descriptor).
struct GlobalVariable {
    std::string name;
    uint64_t address = 0;
    uint64_t size = 0;
};

/// Why a code object was not loaded.
enum class LoadFailure : uint8_t { invalid, wrong_target, undefined_symbol, out_of_memory };

class CodeObject {
 public:
    /// Loads `size` bytes of an ELF64 AMDGPU code object for `device` into `memory`, relocated. Every field is
    /// checked against the file's size; nullptr with one sentence in `error` if the file is not loadable.
    static std::unique_ptr<CodeObject> load(const void* bytes, size_t size, Arch device, MemoryMap& memory,
                                            std::string& error, LoadFailure* failure = nullptr);
    ~CodeObject();
    CodeObject(const CodeObject&) = delete;
    CodeObject& operator=(const CodeObject&) = delete;

    Arch arch() const { return arch_; }
    uint64_t text_begin() const { return text_begin_; }  ///< The executable segment in device memory.
    uint64_t text_end() const { return text_end_; }
    const std::vector<Kernel>& kernels() const { return kernels_; }
    const Kernel* find(std::string_view name) const;
    const std::vector<GlobalVariable>& globals() const { return globals_; }

    /// The source position of the instruction at `pc` from .debug_line; nullopt if there is none.
    std::optional<SourceLine> line(uint64_t pc) const;

    /// Pre-decoded instructions; owned and guarded by the executors.
    mutable std::shared_ptr<void> decoded;

 private:
    friend class CodeObjectLoader;
    CodeObject() = default;

    Arch arch_ = Arch::gfx942;
    MemoryMap* memory_ = nullptr;
    void* image_ = nullptr;  ///< Device memory that holds all load segments.
    uint64_t load_bias_ = 0;  ///< Device address = ELF virtual address + load_bias_ (mod 2^64).
    uint64_t text_begin_ = 0, text_end_ = 0;
    std::vector<Kernel> kernels_;
    std::vector<GlobalVariable> globals_;
    LineTable lines_;
};

}  // namespace hkc::emu
