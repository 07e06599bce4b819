// Offload bundles, what `hipcc --genco` and fat binaries wrap code objects in (Clang, "Clang Offload Bundler").
#pragma once

#include <string>

#include "code_object.h"

namespace hkc::emu {

bool is_offload_bundle(SectionBytes bytes);

/// The code object for `arch` in an uncompressed bundle; empty, with the reason in `error`, if there is none.
SectionBytes find_in_bundle(SectionBytes bundle, Arch arch, std::string& error);

}  // namespace hkc::emu
