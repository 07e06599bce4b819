"""Found by MLIR's bindings when they meet an op of the tile dialect.

The dialect has no OpView classes (see :mod:`hkc.dialect.ops`); without this module the bindings would search the
import path again for every op.
"""
