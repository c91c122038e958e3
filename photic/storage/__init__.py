"""Files: cache folders, atomic and checked writes, mapped files, safetensors."""
