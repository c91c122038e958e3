"""Nests to source text: one renderer for every C-like target, told apart by a dialect table."""
