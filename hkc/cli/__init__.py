"""The command line: ``hkc compile | run | opt | emulate``."""

from hkc.cli.main import main

__all__ = ["main"]
