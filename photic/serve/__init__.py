"""A server for compiled models; nothing yet."""
