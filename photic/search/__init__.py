"""The search: from values to kernels by rules in an e-graph and by choices that are measured.

``region`` makes one region of several stores; ``run`` saturates its values with ``rules``;
``extract`` makes regions of statements of the e-graph; ``space`` makes candidates of choices.
Nothing here knows targets or C: times come from who proposes candidates to a machine.
"""
