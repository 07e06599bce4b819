"""From a kernel to a code object: code generation, linking, caching, reports."""
