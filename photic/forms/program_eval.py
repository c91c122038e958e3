"""The meaning of a program in NumPy: its steps one after the other, over one array a buffer.

Results equal those of the graph evaluator up to the order of sums. Devices and layouts change no
result: an array lies as NumPy likes, a collective combines its buffers in order. What is read
before it was written is noise, never an error; ``check_program`` finds it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from photic.forms.eval import MEANING, Array, Run, convert
from photic.forms.index_eval import evaluate_store
from photic.forms.program_names import named_places
from photic.ir.program import Branch, Collective, Copy, Kernel, Program, Repeat, Step

NOISE = 113  # what a buffer holds before it is written


@np.errstate(all="ignore")
def evaluate_program(
    program: Program,
    inputs: Mapping[str, Array],
    states: Mapping[str, Array],
    sizes: Mapping[str, int],
    *,
    widen: bool,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The outputs, and every state's next value, as ``evaluate`` gives them for a graph.

    A state that is not given is all zeros. The arrays returned own their data. With ``widen``,
    floats may be given in any float dtype and come back as float64. Raises InputMissing,
    InputShape, InputDtype, SizeMissing, SizeOutOfRange; BrokenGraph where a store goes outside.
    """
    run = Run(dict(sizes), widen)
    run.check_sizes(program.sizes)
    buffers = {name: place.buffer for name, place in program.places.items()}
    arrays = {k: np.full(run.shape(b.shape), NOISE, run.dtype(b.dtype)) for k, b in buffers.items()}
    for name, one in program.constants.items():
        arrays[name] = one.array.astype(arrays[name].dtype)
    sources = {k: place.buffer for k, place in named_places(program, "input").items()}
    kept = {k: place.buffer for k, place in named_places(program, "state").items()}
    arrays |= {sources[k].name: array for k, array in run.inputs(sources, inputs).items()}
    arrays |= {kept[k].name: array for k, array in run.states(kept, states).items()}
    for step in program.steps:
        _run(step, program, arrays, run)
    outputs = {name: np.array(arrays[buffer]) for name, buffer in program.outputs.items()}
    return outputs, {name: arrays[buffer.name] for name, buffer in kept.items()}


def _run(step: Step, program: Program, arrays: Mapping[str, Array], run: Run) -> None:
    match step:
        case Kernel(function=name, arguments=arguments):
            parameters = (one.name for one in program.functions[name].parameters)
            buffers = dict(zip(parameters, (arrays[one] for one in arguments), strict=True))
            for store in program.functions[name].stores:
                evaluate_store(store, buffers, run.sizes, widen=run.widen)
        case Copy(target=target, source=source):
            arrays[target][...] = arrays[source]
        case Repeat(counter=counter, trips=trips, body=body):
            for trip in range(run.number(trips)):
                inner = Run({**run.sizes, counter.name: trip}, run.widen)
                for one in body:
                    _run(one, program, arrays, inner)
        case Branch(condition=condition, then=then, otherwise=otherwise):
            for one in then if arrays[condition].item() else otherwise:
                _run(one, program, arrays, run)
        case Collective(op=op, buffers=names):
            whole = run.arithmetic(np.stack([arrays[name] for name in names]))
            for name in names:
                arrays[name][...] = convert(MEANING[op](whole, 0), arrays[name].dtype)
