"""GGUF files: reading them, and unpacking their quantised blocks with primitives."""

from photic.frontends.gguf.metadata import MetadataValue
from photic.frontends.gguf.reader import GgufFile, GgufTensor, open_gguf

__all__ = ["GgufFile", "GgufTensor", "MetadataValue", "open_gguf"]
