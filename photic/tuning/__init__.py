"""Tuning: the search over a program on a machine, within a budget, and what it remembers."""
