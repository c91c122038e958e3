"""The spellings of the hip target: the cuda target's, where Clang compiles for the device.

Nothing of ROCm is read: what CUDA has by name is said in Clang's own words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from photic.targets.cuda.dialect import DIALECT as CUDA
from photic.targets.cuda.dialect import SPELLING as OF_CUDA
from photic.targets.driver import GROUP
from photic.targets.launches import entry_source

HEAD = """\
#ifdef __HIP__
#pragma clang force_cuda_host_device begin
#define __global__ __attribute__((global))
#define __launch_bounds__(most, least) __attribute__((amdgpu_flat_work_group_size(1, most)))
#endif
#define __fmaf_rn __builtin_fmaf
#define __fma_rn __builtin_fma
#define __fsqrt_rn __builtin_sqrtf
#define __dsqrt_rn __builtin_sqrt
#define __clzll __builtin_clzll
#define trunc __builtin_trunc
"""
ITEM = f"(int64_t)__builtin_amdgcn_workgroup_id_x() * {GROUP} + __builtin_amdgcn_workitem_id_x()"

SPELLING = replace(OF_CUDA, item=ITEM)
DIALECT = replace(CUDA, name="hip", head=HEAD + CUDA.head, entry=partial(entry_source, SPELLING))
