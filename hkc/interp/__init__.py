"""The tile dialect run in fp64, with a bound on how far machine arithmetic may be from each value."""

from hkc.interp.interpreter import run
from hkc.interp.values import View

__all__ = ["View", "run"]
