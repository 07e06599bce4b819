#include "bindings.h"

#include <cstdlib>
#include <string_view>
#include <unordered_map>

namespace hkc::emu {

namespace base {
VectorVariant variant();
}
#if HKC_HAVE_X86_VARIANTS
namespace avx2 {
VectorVariant variant();
}
namespace avx512 {
VectorVariant variant();
}
#endif

namespace {

/// HKC_EMULATOR_VECTOR=base or avx2 keeps to fewer vector instructions than the processor has, for tests.
VectorVariant choose_variant() {
#if HKC_HAVE_X86_VARIANTS
    const char* setting = std::getenv("HKC_EMULATOR_VECTOR");
    std::string_view wanted = setting ? setting : "";
    if (wanted == "base") return base::variant();
    bool has_avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (has_avx2 && wanted != "avx2" && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return avx512::variant();
    if (has_avx2) return avx2::variant();
#endif
    return base::variant();
}

class Registry {
 public:
    Registry() {
        add(scalar_bindings());
        add(control_bindings());
        add(lane_bindings());
        add(relocation_bindings());
        add(scalar_memory_bindings());
        add(lds_bindings());
        add(vector_memory_bindings());
        add(buffer_bindings());
        add(formatted_bindings());
        add(scratch_bindings());
        for (std::span<const Binding> list : vector_variant().lists) add(list);
    }

    const Binding* find(std::string_view mnemonic) const {
        auto it = by_mnemonic_.find(mnemonic);
        return it == by_mnemonic_.end() ? nullptr : &it->second;
    }

 private:
    void add(std::span<const Binding> list) {
        for (Binding b : list) {
            if (b.scalar) b.fast = scalar_alu;
            if (b.row) b.fast = vector_variant().valu;
            if (b.matrix) b.fast = vector_variant().matrix;
            by_mnemonic_.emplace(b.mnemonic, b);
        }
    }

    std::unordered_map<std::string_view, Binding> by_mnemonic_;
};

}  // namespace

const VectorVariant& vector_variant() {
    static const VectorVariant chosen = choose_variant();
    return chosen;
}

const Binding* find_binding(const char* mnemonic) {
    static const Registry registry;
    return registry.find(mnemonic);
}

}  // namespace hkc::emu
