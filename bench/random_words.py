"""What random words cost in primitives: Squares beside Philox, whose exclusive or goes by bits.

A million words of Squares with four rounds (Widynski 2020), of Philox4x32-10 (Salmon and others
2011), and of torch's own: seconds to compile, bytes of C, milliseconds a call. Philox takes a
minute to compile.
"""

from __future__ import annotations

import time

import common
import numpy as np
import torch

import photic as ph
from photic.tensor.primitive import masked
from photic.tensor.random import words

COUNT = 1_000_000
WORD_BITS = 32
WORD = 1 << WORD_BITS
PHILOX_ROUNDS, PHILOX_WORDS = 10, 4
PHILOX_FACTORS = 0xD2511F53, 0xCD9E8D57
PHILOX_STEPS = 0x9E3779B9, 0xBB67AE85
MILLISECONDS = 1e3


def exclusive_or(a: ph.Tensor, b: ph.Tensor, c: ph.Tensor) -> ph.Tensor:
    """Bit k of a word is set where the word modulo 2**(k + 1) is not below 2**k."""
    result: ph.Tensor | None = None
    for k in range(WORD_BITS):
        bits = [ph.less(ph.mod(one, 2 << k), 1 << k) for one in (a, b, c)]
        odd = ph.not_equal(ph.not_equal(bits[0], bits[1]), ph.logical_not(bits[2]))
        term = masked(odd, ph.constant(1 << k))
        result = term if result is None else result + term
    assert result is not None
    return result


def high(x: ph.Tensor) -> ph.Tensor:
    """The upper half of 64 bits: without the lower, they are exact as float64."""
    upper = (x - ph.mod(x, WORD)).astype("float64") * (1 / WORD)
    return ph.mod(upper.astype("int64"), WORD)


def philox(key: ph.Tensor, places: ph.Tensor) -> ph.Tensor:
    """Four words for each place."""
    nothing = places * 0
    words_now = [places, nothing, nothing, nothing]
    first, second = ph.mod(key, WORD), high(key)
    for _ in range(PHILOX_ROUNDS):
        products = [words_now[2 * k] * factor for k, factor in enumerate(PHILOX_FACTORS)]
        words_now = [
            exclusive_or(high(products[1]), words_now[1], first),
            ph.mod(products[1], WORD),
            exclusive_or(high(products[0]), words_now[3], second),
            ph.mod(products[0], WORD),
        ]
        first, second = (
            ph.mod(one + step, WORD) for one, step in zip((first, second), PHILOX_STEPS)
        )
    return ph.stack(words_now, -1)


def figure(name: str, result: ph.Tensor, repeats: int) -> common.Figure:
    """Compile, then call."""
    begin = time.perf_counter()
    program = ph.compile({"y": result}, search=0)
    seconds = time.perf_counter() - begin
    given = np.array(1, np.int64)
    found = common.race({name: lambda: program(key=given)}, repeats=repeats, calls_per_sample=1)
    return {
        "name": name,
        "compile_seconds": seconds,
        "bytes_of_c": sum(len(one.source) for one in program.report.kernels),
        "milliseconds": found[name].median * MILLISECONDS,
        "least": found[name].minimum * MILLISECONDS,
    }


def main() -> None:
    """Measure, print, write JSON where asked."""
    arguments = common.parser(__doc__ or "").parse_args()
    key = ph.input("key", (), "int64")
    figures = [
        figure("Squares", words(key, ph.arange(COUNT)), arguments.repeats),
        figure("Philox4x32-10", philox(key, ph.arange(COUNT // PHILOX_WORDS)), arguments.repeats),
    ]
    peer = {"torch": lambda: torch.randint(0, WORD, (COUNT,))}
    found = common.race(peer, repeats=arguments.repeats, calls_per_sample=1)["torch"]
    least = found.minimum * MILLISECONDS
    figures.append({"name": "torch", "milliseconds": found.median * MILLISECONDS, "least": least})
    common.report(figures, arguments.json)


if __name__ == "__main__":
    main()
