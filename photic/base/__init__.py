"""Errors, settings and trace events: what every other layer may use."""
