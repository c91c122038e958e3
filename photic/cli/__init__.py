"""The command line: one file per command; the only folder that prints."""
