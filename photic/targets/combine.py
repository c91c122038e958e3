"""Collectives on one machine: a kernel that combines all buffers into the first, then copies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial, reduce

from photic.forms.scatters import JOIN
from photic.ir import index as form
from photic.ir.dtype import accumulator
from photic.ir.index import Store
from photic.ir.program import Collective, Copy, Program, Step, mapped
from photic.loops.share import Functions, points_of


def combined(program: Program) -> Program:
    """The program without collectives; buffers are combined in order, halves in float32."""
    sizes = frozenset(one.name for one in program.sizes)
    functions = Functions(sizes, dict(program.functions))

    def local(step: Step) -> Iterable[Step]:
        if not isinstance(step, Collective):
            return (step,)
        first, *others = (program.places[name].buffer for name in step.buffers)
        axes, index = points_of(first.shape)
        loads = (form.load(one, index) for one in (first, *others))
        wide = (form.cast(one, accumulator(first.dtype)) for one in loads)
        total = form.cast(reduce(partial(form.binary, JOIN[step.op]), wide), first.dtype)
        kernel = functions.kernel(Store(first, axes, index, total))
        return (kernel, *(Copy(one.name, first.name) for one in others))

    return replace(program, steps=mapped(program.steps, local), functions=functions.table)
