"""Where MLIR's Python bindings look for modules of dialects that are not part of MLIR."""
