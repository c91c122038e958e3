// Matrix instructions of a warp: 16 x 8 sums in float32, to which the products of 16 rows and 8
// columns are added, of 16 half numbers or of 8 in float32 of which the first 11 bits are used. Who
// holds what: PTX ISA, "Matrix Fragments for mma.m16n8k16" and "for mma.m16n8k8";
// photic/targets/cuda/fragments.py loads them so. Devices before sm_80 ask their neighbours.

#define FRAGMENTS                                                                        \
  float &c0, float &c1, float &c2, float &c3, int a0, int a1, int a2, int a3, int b0, int b1
#ifndef __CUDACC_RTC__
#elif __CUDA_ARCH__ >= 800
#define MATRIX(short, shape, type)                                                       \
  LANES void multiply_##short(FRAGMENTS) {                                               \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "         \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                \
  }
MATRIX(bf16, "m16n8k16", "bf16")
MATRIX(f16, "m16n8k16", "f16")
MATRIX(f32, "m16n8k8", "tf32")
#else
LANES float single_of_bf16(int bits) { return same_bits<float>(bits << 16); }
LANES float single_of_f16(int bits) { return single_of((unsigned short)bits); }
#define FROM(a, b, lane) (__shfl_sync(~0u, k < 8 ? a : b, (lane) * 4 + k % 8 / 2) >> k % 2 * 16)
#define MATRIX(short)                                                                    \
  LANES void multiply_##short(FRAGMENTS) {                                               \
    const int row = THREAD % 32 / 4, column = THREAD % 4 * 2;                            \
    _Pragma("unroll") for (int k = 0; k < 16; k++) {                                     \
      const float high = single_of_##short(FROM(a0, a2, row));                           \
      const float low = single_of_##short(FROM(a1, a3, row));                            \
      const float left = single_of_##short(FROM(b0, b1, column));                        \
      const float right = single_of_##short(FROM(b0, b1, column + 1));                   \
      c0 = fused(high, left, c0), c1 = fused(high, right, c1);                           \
      c2 = fused(low, left, c2), c3 = fused(low, right, c3);                             \
    }                                                                                    \
  }
MATRIX(bf16)
MATRIX(f16)
#define SINGLE(a, b, lane) \
  same_bits<float>(__shfl_sync(~0u, k < 4 ? a : b, (lane) * 4 + k % 4))
LANES void multiply_f32(FRAGMENTS) {
  const int row = THREAD % 32 / 4, column = THREAD % 4 * 2;
  _Pragma("unroll") for (int k = 0; k < 8; k++) {
    const float high = SINGLE(a0, a2, row), low = SINGLE(a1, a3, row);
    const float left = SINGLE(b0, b1, column), right = SINGLE(b0, b1, column + 1);
    c0 = fused(high, left, c0), c1 = fused(high, right, c1);
    c2 = fused(low, left, c2), c3 = fused(low, right, c3);
  }
}
#endif
