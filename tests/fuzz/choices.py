"""Choices for kernels: any vector variable, width, register tile and layout that is legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from photic.compiler.passes import Compilation
from photic.forms.parts import is_short
from photic.ir import index as form
from photic.ir.dim import Var
from photic.ir.index import Over
from photic.ir.program import Layout
from photic.loops.plan import Choice, values_to_stage
from photic.targets.registry import target_named

WIDTHS = (2, 4, 8, 16)
STAGED = 0.8  # of what could be staged is
MOST_UNROLLED = 12  # points of a register tile, vectors side by side aside


def arbitrary(random: Random, choice: Choice) -> Choice:
    """Another choice for the same store."""
    store = choice.store
    axes = [*store.axes, *(axis for axis in reductions(choice) if not is_short(axis))]
    lanes = random.choice([*axes, None])
    rows: list[tuple[Var, int]] = []
    points = 1
    for axis in random.sample(store.axes, len(store.axes)):
        size = random.choice([1, 2, 3, 4])
        if axis is not lanes and random.random() < 0.5 and points * size <= MOST_UNROLLED:
            rows.append((axis, size))
            points *= size
    width = random.choice(WIDTHS) if lanes else 1
    count = random.choice([1, 1, 2, 3])
    made = replace(choice, lanes=lanes, width=width, count=count, rows=tuple(rows), staged=())
    staged = values_to_stage(made, target_named("c").machine())
    return replace(made, staged=staged if random.random() < STAGED else ())


def lanes_along_reductions(rows: int = 1) -> Callable[[Compilation], None]:
    """Lanes along a reduction wherever there is one, and so many rows unrolled."""

    def change(state: Compilation) -> None:
        for name, choice in state.choices.items():
            found = [axis for axis in reductions(choice) if not is_short(axis)]
            if found:
                unrolled = tuple((axis, rows) for axis in choice.store.axes[-2:])
                state.choices[name] = replace(
                    choice,
                    lanes=found[-1],
                    width=WIDTHS[-1],
                    count=2,
                    rows=unrolled,
                    layouts={},
                    staged=(),
                )

    return change


def reductions(choice: Choice) -> list[Var]:
    """The variables that the reductions of a kernel bind."""
    values = form.walk(choice.store.value)
    return [one.attribute.axis for one in values if isinstance(one.attribute, Over)]


def scramble(random: Random, state: Compilation) -> None:
    """Other choices for every kernel, and other layouts for the constants it reads."""
    for name, choice in state.choices.items():
        layouts: dict[str, Layout] = {}
        for one in state.program.functions[name].parameters:
            fixed = [k for k, extent in enumerate(one.shape) if isinstance(extent, int) and extent]
            if fixed and random.random() < 0.5:
                layouts[one.name] = Layout(random.choice(fixed), random.choice([2, 3, 8, 16]))
        state.choices[name] = replace(arbitrary(random, choice), layouts=layouts)
