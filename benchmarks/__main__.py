"""``python -m benchmarks``."""

from benchmarks import cold_compile, emulated_gemm

cold_compile.run()
emulated_gemm.run()
