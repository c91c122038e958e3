"""The search: not in the package yet. What exists of it, tested, is in the folder trials."""
