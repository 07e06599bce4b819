"""Speed of hkc on this machine, beside something that everybody knows: ``python -m benchmarks``."""

from pathlib import Path

GEMM = Path(__file__).resolve().parent.parent / "examples" / "01_gemm.tile"
