"""Neural networks: modules, optimisers, schedules and compiled train steps, as ``ph.nn``."""

from __future__ import annotations

from photic.nn.clipping import clip_grad_norm, clip_grad_value
from photic.nn.layers import Linear, ModuleList, Sequential
from photic.nn.layers_gates import ReLU
from photic.nn.module import Module
from photic.nn.optimisers import SGD, Adam, AdamW, Lion, Optimiser
from photic.nn.parameter import Buffer, Parameter
from photic.nn.schedules import GivenRate
from photic.nn.step import EvalStep, TrainStep, eval_step, train_step, trainable

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Buffer",
    "EvalStep",
    "GivenRate",
    "Linear",
    "Lion",
    "Module",
    "ModuleList",
    "Optimiser",
    "Parameter",
    "ReLU",
    "Sequential",
    "TrainStep",
    "clip_grad_norm",
    "clip_grad_value",
    "eval_step",
    "train_step",
    "trainable",
]
