"""The language: `.tile` text and Python functions become one syntax tree, and that becomes tile IR."""
