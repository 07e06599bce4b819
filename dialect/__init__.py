"""The tile dialect: types, ops, verifier and the ``.tile`` printer.

``irdl.py`` is the declarative layer, ``types.py`` and ``ops/`` the declarations, ``context.py`` registers them
in MLIR.
"""
