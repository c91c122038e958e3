"""photic: a search-based deep-learning compiler."""

__version__ = "0.1.0"
