"""Generated code beside Triton's, for the same kernels and tiles: ``make bench-codegen``.

Both compilers' objects are read by one tool (:mod:`hkc.driver.assembly`) and run on the emulated device.
"""
