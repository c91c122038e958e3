"""Machines: one folder each. Only these folders know a machine's instructions and tools."""
