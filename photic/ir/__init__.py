"""What a program means: sizes, dtypes, views, the twelve primitives, graphs and their meaning."""
