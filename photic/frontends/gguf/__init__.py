"""GGUF files: reading them, and unpacking their quantised blocks with primitives."""

from photic.frontends.gguf.reader import GgufFile, GgufTensor, open_gguf
from photic.frontends.model_file import MetadataValue

__all__ = ["GgufFile", "GgufTensor", "MetadataValue", "open_gguf"]
