"""Hugging Face folders of decoders: config.json, safetensors in one file or several."""

from photic.frontends.huggingface.folder import ModelFolder, is_folder, open_folder

__all__ = ["ModelFolder", "is_folder", "open_folder"]
