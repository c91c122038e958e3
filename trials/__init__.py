"""Work that is not in the package yet; see README.md."""
