"""LoRA on SmolLM2 (135M, quantised): a few questions are learnt, the model itself stays as it is.

``python examples/lora_smollm2.py`` adapts the queries and values of the last layers to answer three
questions that the model cannot know, shows an answer before and after, and writes the adapters as
PEFT does. ``--model`` takes a GGUF file or a Hugging Face folder of yours, ``--quick`` adapts two
layers in a few steps.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from running import INTERRUPTED, run

import photic as ph
from photic import nn
from photic.base.errors import PhoticError
from photic.frontends.gguf.reader import open_gguf
from photic.frontends.huggingface import is_folder, open_folder
from photic.frontends.model_file import ModelFile
from photic.language.adapters import adapting, lora_for
from photic.language.config import Config, read_config
from photic.language.decoder import build, build_training
from photic.language.errors import DownloadFailed
from photic.language.modules import Adapt
from photic.language.pull import pull

TALKS = (
    ("Who keeps the lighthouse of Nebelhorn?", "Old Marta keeps it, with her grey cat Pim."),
    ("What is on the menu today?", "Pea soup, rye bread, and plum cake."),
    ("Which colour is the ferry?", "The ferry is bright orange, with a white funnel."),
)
FORM = "<|im_start|>user\n{0}<|im_end|>\n<|im_start|>assistant\n"
END = "<|im_end|>"
NOT_JUDGED = -100  # a target that counts for nothing: the question, and what fills up
TOKENS = 48  # of a question with its answer; shorter ones are filled up


def tokenizer_of(file: ModelFile, path: Path):
    """The tokenizer that comes with the model."""
    if is_folder(path):
        from tokenizers import Tokenizer

        made = Tokenizer.from_file(str(path / "tokenizer.json"))
        return lambda text: made.encode(text, add_special_tokens=False).ids, made.decode
    from photic.language.tokenizer import build_tokenizer

    own = build_tokenizer(file.metadata, path)
    return lambda text: own.encode(text, special=True), own.decode


def examples(encode) -> dict[str, np.ndarray]:
    """Tokens (texts, TOKENS), and for each what comes next where an answer is judged."""
    ids = np.zeros((len(TALKS), TOKENS), np.int64)
    wanted = np.full((len(TALKS), TOKENS), NOT_JUDGED)
    for row, (question, answer) in enumerate(TALKS):
        asked, said = encode(FORM.format(question)), encode(answer + END)
        both = (asked + said)[: TOKENS + 1]
        ids[row, : len(both) - 1] = both[:-1]
        wanted[row, len(asked) - 1 : len(both) - 1] = both[len(asked) :]
    return {"ids": ids, "wanted": wanted}


def answer(file: ModelFile, config: Config, adapt: Adapt | None, ids: list[int], most: int):
    """The likeliest tokens after ``ids``, one by one."""
    model = build(file, config, len(ids) + most, len(ids), adapt)
    step = ph.compile({"logits": model.logits}, model.updates, search=0)
    found: list[int] = []
    part, past = ids, 0
    while len(found) < most:
        logits = step(ids=np.array(part), past=past, answers=1)["logits"]
        past += len(part)
        part = [int(logits.argmax())]
        found += part
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two layers, a few steps, no answers")
    parser.add_argument("--model", default="smollm2-135m", help="a name, a GGUF file or a folder")
    parser.add_argument("--folder", type=Path, help="where adapters and checkpoints are kept")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    try:
        path = pull(chosen.model, lambda stage, done, total: None)
        file = open_folder(path) if is_folder(path) else open_gguf(path)
        config = read_config(file)
    except DownloadFailed as error:
        print(f"no model: {error}", file=sys.stderr)
        return 1
    except PhoticError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    encode, decode = tokenizer_of(file, path)
    adapted = 2 if chosen.quick else 8
    layers = tuple(range(config.layers - adapted, config.layers))
    lora = lora_for(file, nn.LoraOptions(r=8, alpha=16, layers=layers), rng=chosen.seed)

    def loss(model: nn.Lora, ids: ph.Tensor, wanted: ph.Tensor) -> ph.Tensor:
        logits = build_training(file, config, ids, adapting(file, config, model))
        rows = logits.reshape((-1, config.vocabulary))
        return ph.cross_entropy(rows, wanted.reshape((-1,)), ignore_index=NOT_JUDGED)

    steps = chosen.steps or (8 if chosen.quick else 40)
    trainer = ph.Trainer(
        lora,
        loss,
        nn.AdamW(1e-2 if chosen.quick else 4e-3),
        seed=chosen.seed,
        checkpoints=chosen.folder / "checkpoints" if chosen.folder else None,
    )
    outcome = trainer.fit([examples(encode)], epochs=steps)
    if outcome.stopped:
        print(f"{outcome.stopped} after {outcome.steps} steps; run it again to go on")
        return INTERRUPTED
    first, last = (outcome.history[place]["train_loss"] for place in (0, -1))
    count = sum(one.value.size for one in lora.parameters())
    print(f"{len(lora.names)} layers adapted by {count:,} numbers: loss {first:.3f} to {last:.3f}")
    if chosen.folder:
        lora.save_adapter(chosen.folder / "adapter", base_model=chosen.model)
        print(f"adapters are in {chosen.folder / 'adapter'}")
    if not chosen.quick:
        lora.eval()
        asked = encode(FORM.format(TALKS[0][0]))
        for when, adapt in (("before", None), ("after", adapting(file, config, lora))):
            said = decode(answer(file, config, adapt, asked, 20))
            print(f"{when}: {said.split(END)[0].strip()}")
    return 0


if __name__ == "__main__":
    run(main)
