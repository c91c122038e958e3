"""How a kernel is arranged: placement, lowering to the program form, nests and their default."""
