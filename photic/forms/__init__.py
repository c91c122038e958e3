"""The text forms of graphs and programs, and their checkers: for people, tests and files.

The compiler runs without reading any text; it prints and checks through here when asked to.
"""
