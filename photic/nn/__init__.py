"""Modules, optimisers and losses; nothing yet."""
