"""The bank of mel filters that ONNX's MelWeightMatrix describes, in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BREAK, SCALE = 700.0, 2595.0  # of the mel scale: SCALE*log10(1 + f/BREAK)


def mel_weights(
    bins: int, length: int, rate: int, low: float, high: float
) -> npt.NDArray[np.float64]:
    """(length // 2 + 1, bins): each column rises to its middle and falls, in whole bins."""
    spectrum = length // 2 + 1
    ends = SCALE * np.log10(1 + np.array([low, high]) / BREAK)
    step = (ends[1] - ends[0]) / (bins + 2)
    mels = np.arange(bins + 2) * step + ends[0]
    hertz = BREAK * (10.0 ** (mels / SCALE) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    weights = np.zeros((spectrum, bins))
    for k in range(bins):
        first, middle, last = places[k : k + 3]
        if middle == first:
            weights[middle, k] = 1
        for at in range(first, middle + 1 if middle != first else first):
            weights[at, k] = (at - first) / (middle - first)
        for at in range(middle, last):
            weights[at, k] = (last - at) / (last - middle)
    return weights
