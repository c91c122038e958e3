"""The spellings of the hip target: the cuda target's, where Clang compiles for the device.

Nothing of ROCm is read: what CUDA has by name is said in Clang's own words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from photic.targets.cuda.dialect import DIALECT as CUDA
from photic.targets.cuda.dialect import SPELLING as OF_CUDA
from photic.targets.group_nests import words_for
from photic.targets.group_products import GROUP
from photic.targets.lanes import LANES
from photic.targets.launches import entry_source

HEAD = """\
#ifdef __HIP__
#pragma clang force_cuda_host_device begin
#define __global__ __attribute__((global))
#define __launch_bounds__(most, least) __attribute__((amdgpu_flat_work_group_size(1, most)))
#define __shared__ __attribute__((shared))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __syncthreads()                               \
  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
   __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#endif
#define THREAD ((int)__builtin_amdgcn_workitem_id_x())
#define __fmaf_rn __builtin_fmaf
#define __fma_rn __builtin_fma
#define __fsqrt_rn __builtin_sqrtf
#define __dsqrt_rn __builtin_sqrt
#define __clzll __builtin_clzll
#define trunc __builtin_trunc
"""
ITEM = f"(int64_t)__builtin_amdgcn_workgroup_id_x() * {GROUP} + __builtin_amdgcn_workitem_id_x()"

SPELLING = replace(OF_CUDA, item=ITEM, group="(int64_t)__builtin_amdgcn_workgroup_id_x()")
DIALECT = replace(
    CUDA,
    name="hip",
    head=HEAD + LANES,
    entry=partial(entry_source, SPELLING),
    words=partial(words_for, ()),
)
