"""Gradients: a backward graph from a forward graph, and nothing else; knows graphs, not tensors."""
