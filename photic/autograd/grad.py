"""The backward pass: from outputs to what they depend on, one rule at a time; graph in, graph out.

Promises the sum over all paths, in the dtype of each value. It does not compute anything, and does
not simplify beyond the laws of ``build`` and ``term``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from photic.autograd.checkpoint import Copies, copies
from photic.autograd.facts import Facts
from photic.autograd.loops import Pairs, moving, pull_scan
from photic.autograd.padded_copies import Paddings, off_copies, paddings, past
from photic.autograd.rules import RULES, Found
from photic.autograd.term import Term, brought, total, whole
from photic.ir.graph import Item, Node, Operand, topological


@dataclass(slots=True)
class _Pass:
    """One backward pass: the nodes on its way, and the terms that have arrived at each."""

    moving: set[Node]
    facts: Facts
    copies: Copies
    paddings: Paddings
    terms: dict[Node, list[Term]] = field(default_factory=lambda: defaultdict(list))
    results: dict[Node, dict[int, Operand]] = field(default_factory=lambda: defaultdict(dict))

    def is_moving(self, node: Node) -> bool:
        """True if a gradient goes on through a node or its original."""
        return self.copies.originals.get(node, node) in self.moving

    def arrive(self, found: Found) -> None:
        """Take in terms for what a node reads, where a gradient goes on."""
        for one, term in found:
            original = Operand(self.copies.originals.get(one.node, one.node), one.view)
            if original.node in self.moving:
                read = past(original, self.paddings)
                self.terms[read.node].append(brought(term, read.view, read.node.shape))

    def leave(self, node: Node) -> Term | None:
        """Send the gradient of a node on; returns it, None where it is 0."""
        if node.op == "scan":
            results = self.results.pop(node, {})
            if results:
                copy = self.copies.again.get(node, node)
                self.arrive(pull_scan(copy, results, self.is_moving, gradients))
            return None
        term = total(self.terms.pop(node, []))
        if term is None:
            return None
        if isinstance(node.attribute, Item):
            self.results[node.operands[0].node][node.attribute.number] = whole(term)
        rule = RULES[node.op].pull
        if rule is not None:
            self.arrive(rule(self.copies.again.get(node, node), term, self.facts))
        return term


def gradients(pairs: Pairs, wanted: Collection[Node]) -> dict[Node, Operand]:
    """For each wanted node, the gradient of the sum of ``output * weight`` over the pairs.

    A node on which the outputs do not depend, or only by steps, is left out: its gradient is 0.
    """
    roots: Sequence[Node] = [output.node for output, _ in pairs]
    order = list(topological(roots))
    facts = Facts()
    facts.learn(roots)
    on_the_way = moving(roots, wanted)
    known = paddings(order)
    passed = {node: one for node, one in known.items() if node not in wanted}
    state = _Pass(on_the_way, facts, copies(order, facts), passed)
    state.arrive((output, Term((weight,))) for output, weight in pairs)
    found: dict[Node, Operand] = {}
    for node in reversed(order):
        if node in on_the_way:
            term = state.leave(node)
            if term is not None and node in wanted:
                found[node] = whole(term)
    return off_copies(found, set(order), known)
