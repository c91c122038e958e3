"""The search: from values to kernels by rules in an e-graph and by measuring.

``region`` makes one region of several stores; ``run`` saturates its values with ``rules``;
``extract`` makes regions of statements of the e-graph. Nothing here knows targets or C.
"""
