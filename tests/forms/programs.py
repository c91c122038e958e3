"""Programs written by hand, in their text form, and what they must compute."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

EVERY_STEP = """\
n = Symbol('n', 0, 9)
in_x = Buffer('in_x', (n,), float32)
in_flag = Buffer('in_flag', (), bool)
state_h = Buffer('state_h', (3,), float32)
t0 = Buffer('t0', (n,), float32)
t1 = Buffer('t1', (n,), float32)
out_y = Buffer('out_y', (n,), float32)
out_z = Buffer('out_z', (n,), float32)
p0 = Buffer('p0', (n,), float32)
p1 = Buffer('p1', (n,), float32)
a0 = Var('a0', n)
v11 = Expr('load', (), Access(p1, (a0,)), float32)
v12 = Expr('add', (v11, v11), Plain(), float32)
k0 = Function('k0', (p0, p1), (Store(p0, (a0,), (a0,), v12),))
v14 = Expr('mul', (v11, v11), Plain(), float32)
k1 = Function('k1', (p0, p1), (Store(p0, (a0,), (a0,), v14),))
p0_16 = Buffer('p0', (3,), float32)
trip = Symbol('trip', 0, 2)
v18 = Expr('iota', (), Position(trip), int64)
v19 = Expr('cast', (v18,), Plain(), float32)
a0_20 = Var('a0', 3)
v21 = Expr('load', (), Access(p0_16, (a0_20,)), float32)
v22 = Expr('add', (v21, v19), Plain(), float32)
k2 = Function('k2', (p0_16,), (Store(p0_16, (a0_20,), (a0_20,), v22),))
Program(
    (n,),
    {
        'in_x': Place(in_x, 'input', 'c:0', Layout(0, 1)),
        'in_flag': Place(in_flag, 'input', 'c:0', Layout(0, 1)),
        'state_h': Place(state_h, 'state', 'c:0', Layout(0, 1)),
        't0': Place(t0, 'temporary', 'c:0', Layout(0, 1)),
        't1': Place(t1, 'temporary', 'c:0', Layout(0, 1)),
        'out_y': Place(out_y, 'output', 'c:0', Layout(0, 1)),
        'out_z': Place(out_z, 'output', 'c:0', Layout(0, 1)),
    },
    {'k0': k0, 'k1': k1, 'k2': k2},
    (
        Kernel('k0', ('t0', 'in_x')),
        Kernel('k1', ('t1', 'in_x')),
        Branch(
            'in_flag',
            (Collective('sum', ('t0', 't1')),),
            (Collective('max', ('t0', 't1')),),
        ),
        Repeat(trip, 3, (Kernel('k2', ('state_h',)),)),
        Copy('out_y', 't1'),
        Copy('out_z', 't0'),
    ),
    {'y': 'out_y', 'z': 'out_z'},
)
"""


def every_step(x: Array, flag: bool, h: Array) -> tuple[Array, Array]:
    """What ``y`` and ``z`` are, and what the state ``h`` becomes."""
    combine = np.add if flag else np.maximum
    return combine(x + x, x * x), h + np.float32(0) + np.float32(1) + np.float32(2)


COLLECTIVE = """\
in_x = Buffer('in_x', (5, 2), DTYPE)
in_y = Buffer('in_y', (5, 2), DTYPE)
in_z = Buffer('in_z', (5, 2), DTYPE)
out_x = Buffer('out_x', (5, 2), DTYPE)
out_y = Buffer('out_y', (5, 2), DTYPE)
out_z = Buffer('out_z', (5, 2), DTYPE)
Program(
    (),
    {
        'in_x': Place(in_x, 'input', 'c:0', Layout(0, 1)),
        'in_y': Place(in_y, 'input', 'c:0', Layout(0, 1)),
        'in_z': Place(in_z, 'input', 'c:0', Layout(0, 1)),
        'out_x': Place(out_x, 'output', 'c:0', Layout(0, 1)),
        'out_y': Place(out_y, 'output', 'c:0', Layout(0, 1)),
        'out_z': Place(out_z, 'output', 'c:0', Layout(0, 1)),
    },
    {},
    (
        Copy('out_x', 'in_x'),
        Copy('out_y', 'in_y'),
        Copy('out_z', 'in_z'),
        Collective('OP', ('out_x', 'out_y', 'out_z')),
    ),
    {'x': 'out_x', 'y': 'out_y', 'z': 'out_z'},
)
"""
