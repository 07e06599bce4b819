#include "code_object.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "elf_file.h"
#include "msgpack.h"

namespace hkc::emu {

namespace {

constexpr uint32_t nt_amdgpu_metadata = 32;
constexpr uint64_t max_image_bytes = uint64_t{1} << 30;
constexpr uint32_t max_kernarg_bytes = 1 << 20;
constexpr uint64_t image_alignment = 4096;
// HIP's default for hipLimitStackSize, used for kernels whose stack size the compiler does not know.
constexpr uint32_t dynamic_stack_bytes = 16384;

// Relocations of LLVM AMDGPUUsage, "Relocation Records", that a linked object may keep.
enum : uint32_t {
    R_AMDGPU_NONE = 0,
    R_AMDGPU_ABS32_LO = 1,
    R_AMDGPU_ABS32_HI = 2,
    R_AMDGPU_ABS64 = 3,
    R_AMDGPU_REL32 = 4,
    R_AMDGPU_REL64 = 5,
    R_AMDGPU_ABS32 = 6,
    R_AMDGPU_REL32_LO = 10,
    R_AMDGPU_REL32_HI = 11,
    R_AMDGPU_RELATIVE64 = 13,
};

template <typename T>
T read_at(const uint8_t* bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
}

KernelDescriptor read_descriptor(const uint8_t* bytes) {
    KernelDescriptor descriptor;
    descriptor.group_segment = read_at<uint32_t>(bytes, 0);
    descriptor.private_segment = read_at<uint32_t>(bytes, 4);
    descriptor.kernarg_size = read_at<uint32_t>(bytes, 8);
    descriptor.entry_offset = read_at<int64_t>(bytes, 16);
    descriptor.rsrc3 = read_at<uint32_t>(bytes, 44);
    descriptor.rsrc1 = read_at<uint32_t>(bytes, 48);
    descriptor.rsrc2 = read_at<uint32_t>(bytes, 52);
    descriptor.properties = read_at<uint16_t>(bytes, 56);
    descriptor.kernarg_preload = read_at<uint16_t>(bytes, 58);
    return descriptor;
}

constexpr size_t descriptor_bytes = 64;
constexpr uint16_t property_wavefront32 = 1 << 10;

uint32_t required(const msgpack::Value& map, std::string_view key, const std::string& kernel) {
    const auto value = map.unsigned_at(key);
    if (!value) throw LoadError("the metadata of kernel '" + kernel + "' has no valid " + std::string(key));
    return *value;
}

}  // namespace

const char* arch_name(Arch arch) {
    return arch == Arch::gfx942 ? "gfx942" : "gfx950";
}

/// Steps of CodeObject::load; each throws LoadError.
class CodeObjectLoader {
 public:
    CodeObjectLoader(CodeObject& object, const ElfFile& file, MemoryMap& memory)
        : object_(object), file_(file), memory_(memory) {}

    void load() {
        map_segments();
        read_symbols();
        relocate();
        read_kernels();
        read_globals();
        object_.lines_ =
            LineTable::parse(file_.named_section(".debug_line"), file_.named_section(".debug_str"),
                             file_.named_section(".debug_line_str"));
    }

 private:
    void map_segments() {
        uint64_t low = std::numeric_limits<uint64_t>::max(), high = 0;
        for (const Elf64_Phdr& segment : file_.segments()) {
            if (segment.p_type != PT_LOAD) continue;
            const uint64_t end = segment.p_vaddr + segment.p_memsz;
            if (segment.p_filesz > segment.p_memsz || end < segment.p_vaddr || end > max_image_bytes) {
                throw LoadError("a load segment of the code object has an invalid address or size");
            }
            low = std::min(low, segment.p_vaddr);
            high = std::max(high, end);
        }
        if (high <= low) throw LoadError("the code object has no load segments");
        low_ = low / image_alignment * image_alignment;
        size_ = high - low_;
        object_.image_ = memory_.allocate(size_, MemoryMap::host_owner, image_alignment);
        if (object_.image_ == nullptr) {
            throw LoadError(
                "the device has no memory left for the code object's " + std::to_string(size_) + " bytes",
                LoadFailure::out_of_memory);
        }
        object_.memory_ = &memory_;
        image_ = static_cast<uint8_t*>(object_.image_);
        std::memset(image_, 0, size_);
        object_.load_bias_ = reinterpret_cast<uint64_t>(image_) - low_;
        for (const Elf64_Phdr& segment : file_.segments()) {
            if (segment.p_type == PT_LOAD) copy_segment(segment);
        }
        if (object_.text_end_ == object_.text_begin_)
            throw LoadError("the code object has no executable segment");
    }

    void copy_segment(const Elf64_Phdr& segment) {
        const SectionBytes content = file_.bytes(segment.p_offset, segment.p_filesz, "load segments");
        if (content.size != 0) std::memcpy(image_ + (segment.p_vaddr - low_), content.data, content.size);
        if ((segment.p_flags & PF_X) == 0 || segment.p_memsz == 0) return;
        if (object_.text_end_ != 0) throw LoadError("the code object has more than one executable segment");
        if (segment.p_vaddr % 4 != 0) throw LoadError("the executable segment is not aligned to 4 bytes");
        object_.text_begin_ = segment.p_vaddr + object_.load_bias_;
        object_.text_end_ = object_.text_begin_ + segment.p_memsz / 4 * 4;
    }

    // True if [address, address + bytes) of the ELF's address space lies in the image.
    bool in_image(uint64_t address, uint64_t bytes) const {
        return address >= low_ && address - low_ <= size_ && bytes <= size_ - (address - low_);
    }

    void read_symbols() {
        for (const uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
            for (const Elf64_Shdr& section : file_.sections()) {
                if (section.sh_type != type) continue;
                symbols_ = file_.symbols(section);
                return;
            }
        }
        throw LoadError("the code object has no symbol table");
    }

    void relocate() {
        for (const Elf64_Shdr& section : file_.sections()) {
            if ((section.sh_flags & SHF_ALLOC) == 0) continue;
            if (section.sh_type == SHT_REL && section.sh_size != 0) {
                throw LoadError("the code object has relocations without addends, which AMDGPU does not use");
            }
            if (section.sh_type != SHT_RELA) continue;
            std::vector<ElfSymbol> symbols;
            if (section.sh_link != 0) {
                if (section.sh_link >= file_.sections().size())
                    throw LoadError("a relocation section is damaged");
                symbols = file_.symbols(file_.sections()[section.sh_link]);
            }
            const SectionBytes table = file_.section_bytes(section, "relocations");
            for (size_t at = 0; at + sizeof(Elf64_Rela) <= table.size; at += sizeof(Elf64_Rela)) {
                apply(read_at<Elf64_Rela>(table.data, at), symbols);
            }
        }
    }

    void apply(const Elf64_Rela& relocation, const std::vector<ElfSymbol>& symbols) {
        const uint32_t type = ELF64_R_TYPE(relocation.r_info);
        if (type == R_AMDGPU_NONE) return;
        const uint64_t place = relocation.r_offset + object_.load_bias_;
        const uint64_t addend = static_cast<uint64_t>(relocation.r_addend);
        uint64_t value = addend + object_.load_bias_;
        if (type != R_AMDGPU_RELATIVE64)
            value = symbol_address(ELF64_R_SYM(relocation.r_info), symbols) + addend;
        switch (type) {
            case R_AMDGPU_RELATIVE64:
            case R_AMDGPU_ABS64:
                return store(relocation.r_offset, value, 8);
            case R_AMDGPU_REL64:
                return store(relocation.r_offset, value - place, 8);
            case R_AMDGPU_ABS32:
            case R_AMDGPU_ABS32_LO:
                return store(relocation.r_offset, value, 4);
            case R_AMDGPU_ABS32_HI:
                return store(relocation.r_offset, value >> 32, 4);
            case R_AMDGPU_REL32:
            case R_AMDGPU_REL32_LO:
                return store(relocation.r_offset, value - place, 4);
            case R_AMDGPU_REL32_HI:
                return store(relocation.r_offset, (value - place) >> 32, 4);
            default:
                throw LoadError("the code object has a relocation of unknown type " + std::to_string(type));
        }
    }

    uint64_t symbol_address(size_t index, const std::vector<ElfSymbol>& symbols) const {
        if (index >= symbols.size()) throw LoadError("a relocation names a symbol that does not exist");
        const Elf64_Sym& symbol = symbols[index].entry;
        if (symbol.st_shndx != SHN_UNDEF) return symbol.st_value + object_.load_bias_;
        if (index == 0) return object_.load_bias_;
        if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK) return 0;
        throw LoadError("the code object needs the symbol '" + std::string(symbols[index].name) +
                            "', which it does not define",
                        LoadFailure::undefined_symbol);
    }

    void store(uint64_t address, uint64_t value, size_t bytes) {
        if (!in_image(address, bytes))
            throw LoadError("a relocation lies outside of the code object's segments");
        std::memcpy(image_ + (address - low_), &value, bytes);
    }

    void read_kernels() {
        const SectionBytes note = file_.note("AMDGPU", nt_amdgpu_metadata);
        if (note.size == 0) throw LoadError("the code object has no AMDGPU metadata note");
        const auto metadata = msgpack::parse(note.data, note.size);
        if (!metadata || metadata->type != msgpack::Type::map) {
            throw LoadError("the code object's metadata note is damaged");
        }
        const msgpack::Value* kernels = metadata->get("amdhsa.kernels");
        if (kernels == nullptr || kernels->type != msgpack::Type::array) {
            throw LoadError("the code object's metadata lists no kernels");
        }
        for (const msgpack::Value& kernel : kernels->items) {
            object_.kernels_.push_back(read_kernel(kernel));
        }
    }

    Kernel read_kernel(const msgpack::Value& map) {
        Kernel kernel;
        kernel.name = map.string_or(".name", "");
        kernel.object = &object_;
        if (kernel.name.empty()) throw LoadError("the code object's metadata has a kernel without a name");
        const std::string symbol(map.string_or(".symbol", kernel.name + ".kd"));
        kernel.descriptor = find_descriptor(kernel, symbol);
        kernel.kernarg_size = required(map, ".kernarg_segment_size", kernel.name);
        kernel.group_segment = required(map, ".group_segment_fixed_size", kernel.name);
        kernel.private_segment = required(map, ".private_segment_fixed_size", kernel.name);
        kernel.max_flat_workgroup_size = required(map, ".max_flat_workgroup_size", kernel.name);
        kernel.vgpr_count = map.unsigned_at(".vgpr_count").value_or(0);
        kernel.agpr_count = map.unsigned_at(".agpr_count").value_or(0);
        kernel.sgpr_count = map.unsigned_at(".sgpr_count").value_or(0);
        kernel.vgpr_spills = map.unsigned_at(".vgpr_spill_count").value_or(0);
        kernel.sgpr_spills = map.unsigned_at(".sgpr_spill_count").value_or(0);
        const msgpack::Value* dynamic_stack = map.get(".uses_dynamic_stack");
        if (dynamic_stack != nullptr && dynamic_stack->integer != 0) {
            kernel.private_segment = std::max(kernel.private_segment, dynamic_stack_bytes);
        }
        check_limits(kernel, map);
        read_arguments(kernel, map);
        return kernel;
    }

    static void check_limits(const Kernel& kernel, const msgpack::Value& map) {
        if (map.unsigned_at(".wavefront_size").value_or(64) != 64 ||
            (kernel.descriptor.properties & property_wavefront32) != 0) {
            throw LoadError("kernel '" + kernel.name + "' is not for wavefronts of 64 lanes");
        }
        if (kernel.kernarg_size > max_kernarg_bytes) {
            throw LoadError("kernel '" + kernel.name + "' has an invalid kernarg segment size");
        }
        if (kernel.max_flat_workgroup_size == 0 || kernel.max_flat_workgroup_size > 1024) {
            throw LoadError("kernel '" + kernel.name + "' has an invalid maximum workgroup size");
        }
    }

    KernelDescriptor find_descriptor(Kernel& kernel, const std::string& symbol) {
        for (const ElfSymbol& candidate : symbols_) {
            if (candidate.name != symbol || candidate.entry.st_shndx == SHN_UNDEF) continue;
            const uint64_t address = candidate.entry.st_value;
            if (!in_image(address, descriptor_bytes)) {
                throw LoadError("the descriptor of kernel '" + kernel.name +
                                "' lies outside of the code object");
            }
            const KernelDescriptor descriptor = read_descriptor(image_ + (address - low_));
            kernel.entry = address + object_.load_bias_ + static_cast<uint64_t>(descriptor.entry_offset);
            if (kernel.entry < object_.text_begin_ || kernel.entry >= object_.text_end_ ||
                kernel.entry % 4 != 0) {
                throw LoadError("the entry of kernel '" + kernel.name +
                                "' lies outside of the executable segment");
            }
            return descriptor;
        }
        throw LoadError("the code object has no symbol '" + symbol + "' for kernel '" + kernel.name + "'");
    }

    static void read_arguments(Kernel& kernel, const msgpack::Value& map) {
        const msgpack::Value* arguments = map.get(".args");
        if (arguments == nullptr) return;
        for (const msgpack::Value& item : arguments->items) {
            KernelArgument argument;
            argument.name = item.string_or(".name", "");
            argument.value_kind = item.string_or(".value_kind", "");
            argument.address_space = item.string_or(".address_space", "");
            argument.offset = required(item, ".offset", kernel.name);
            argument.size = required(item, ".size", kernel.name);
            if (argument.size > kernel.kernarg_size ||
                argument.offset > kernel.kernarg_size - argument.size) {
                throw LoadError("an argument of kernel '" + kernel.name +
                                "' lies outside of its kernarg segment");
            }
            kernel.arguments.push_back(std::move(argument));
        }
    }

    void read_globals() {
        for (const ElfSymbol& symbol : symbols_) {
            const Elf64_Sym& entry = symbol.entry;
            if (ELF64_ST_TYPE(entry.st_info) != STT_OBJECT || entry.st_shndx == SHN_UNDEF) continue;
            if (symbol.name.ends_with(".kd") || !in_image(entry.st_value, entry.st_size)) continue;
            object_.globals_.push_back(
                {std::string(symbol.name), entry.st_value + object_.load_bias_, entry.st_size});
        }
    }

    CodeObject& object_;
    const ElfFile& file_;
    MemoryMap& memory_;
    std::vector<ElfSymbol> symbols_;
    uint64_t low_ = 0, size_ = 0;  ///< The image's range in the ELF's address space.
    uint8_t* image_ = nullptr;
};

std::unique_ptr<CodeObject> CodeObject::load(const void* bytes, size_t size, Arch device, MemoryMap& memory,
                                             std::string& error, LoadFailure* failure) {
    std::unique_ptr<CodeObject> object(new CodeObject);
    try {
        const ElfFile file(static_cast<const uint8_t*>(bytes), size, device);
        object->arch_ = device;
        CodeObjectLoader(*object, file, memory).load();
        return object;
    } catch (const LoadError& problem) {
        error = problem.what();
        if (failure != nullptr) *failure = problem.failure;
    } catch (const std::bad_alloc&) {
        error = "the host has no memory left to load the code object";
        if (failure != nullptr) *failure = LoadFailure::out_of_memory;
    }
    return nullptr;
}

CodeObject::~CodeObject() {
    if (image_ != nullptr) memory_->release(image_);
}

const Kernel* CodeObject::find(std::string_view name) const {
    for (const Kernel& kernel : kernels_) {
        if (kernel.name == name) return &kernel;
    }
    return nullptr;
}

std::optional<SourceLine> CodeObject::line(uint64_t pc) const {
    return lines_.find(pc - load_bias_);
}

}  // namespace hkc::emu
