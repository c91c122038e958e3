// What CUDA C++ has and C++ has not, for texts of the cuda target that a processor is to run.
// Work-items run one after the other, in either order: none may depend on another. In a text that
// has memory for a group (SHARES) each runs to its barrier, and all others of the group before it
// goes on: what a barrier that is missing should have ordered comes out in another order here.

struct photic_place { unsigned x, y, z; };
static thread_local photic_place threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __syncwarp(...) static_assert(false, "warps are not known here")

extern "C" double trunc(double);
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
static inline int __clzll(long long a) {
  return a ? __builtin_clzll((unsigned long long)a) : 64;
}
template <class T, T... I> struct photic_numbers {};
template <class... A, int... I>
static void photic_call(void (*kernel)(A...), void **given, photic_numbers<int, I...>) {
  kernel(*(A *)given[I]...);
}
// The arguments of a kernel, copied: what a launch that is recorded is given.
extern "C" void *malloc(unsigned long);
template <class... A> static void **photic_kept(void (*)(A...), void **given) {
  const unsigned long sizes[] = {sizeof(A)...};
  void **kept = (void **)malloc(sizeof...(A) * sizeof(void *));
  for (unsigned k = 0; k < sizeof...(A); k++) {
    kept[k] = malloc(sizes[k]);
    __builtin_memcpy(kept[k], given[k], sizes[k]);
  }
  return kept;
}

#ifdef SHARES
#include <ucontext.h>
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __syncthreads() swapcontext(photic_items + threadIdx.x, &photic_others)
enum { PHOTIC_GROUP = 128, PHOTIC_STACK = 1 << 19 };
static ucontext_t photic_others, photic_items[PHOTIC_GROUP];
static char photic_stacks[PHOTIC_GROUP][PHOTIC_STACK];
static int photic_left;
static bool photic_is_busy;  // of all threads one launches: the memory of a group is there once

template <class... A> struct photic_group {
  static inline void (*kernel)(A...);
  static inline void **given;
  static inline bool ended[PHOTIC_GROUP];
  static void item() {
    photic_call(kernel, given, __make_integer_seq<photic_numbers, int, sizeof...(A)>());
    ended[threadIdx.x] = true, photic_left--;
  }
  // All work-items of a group, from barrier to barrier.
  static void run(unsigned group, int backwards) {
    for (unsigned k = 0; k < group; k++) {
      getcontext(photic_items + k);
      photic_items[k].uc_stack.ss_sp = photic_stacks[k];
      photic_items[k].uc_stack.ss_size = PHOTIC_STACK;
      photic_items[k].uc_link = &photic_others;
      makecontext(photic_items + k, item, 0);
      ended[k] = false;
    }
    for (photic_left = (int)group; photic_left > 0;)
      for (unsigned k = 0; k < group; k++) {
        threadIdx.x = backwards ? group - 1 - k : k;
        if (!ended[threadIdx.x]) swapcontext(&photic_others, photic_items + threadIdx.x);
      }
  }
};
// The matrix instruction of a warp by the documented layout of its fragments: each item writes what
// it holds into whole matrices, waits for the others, and reads its sums of the product.
static float photic_rows[PHOTIC_GROUP / 32][16][16], photic_columns[PHOTIC_GROUP / 32][16][8];
static float photic_wide(int bits, bool is_bf16) {
  const unsigned short half = (unsigned short)bits;
  const unsigned wide = (unsigned)half << 16;
  return is_bf16 ? __builtin_bit_cast(float, wide) : (float)__builtin_bit_cast(_Float16, half);
}
static void photic_multiply(float *c[4], const int a[4], const int b[2], bool is_bf16) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane >> 2, in_group = lane % 4;
  for (int i = 0; i < 8; i++) {  // a0..a7: row and column of each
    const int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
    const int column = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    photic_rows[warp][row][column] = photic_wide(a[i / 2] >> i % 2 * 16, is_bf16);
  }
  for (int i = 0; i < 4; i++) {  // b0..b3
    const int row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    photic_columns[warp][row][group] = photic_wide(b[i / 2] >> i % 2 * 16, is_bf16);
  }
  __syncthreads();
  for (int i = 0; i < 4; i++) {  // c0..c3
    const int row = i < 2 ? group : group + 8, column = in_group * 2 + (i & 1);
    for (int k = 0; k < 16; k++)
      *c[i] += photic_rows[warp][row][k] * photic_columns[warp][k][column];
  }
  __syncthreads();
}
// The same of eight terms of tf32 (mma.m16n8k8): float32, of which a device reads the first 19 bits.
static float photic_tf32(int bits) { return __builtin_bit_cast(float, bits & ~0x1fff); }
static void photic_multiply_f32(float *c[4], const int a[4], const int b[2]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane >> 2, in_group = lane % 4;
  for (int i = 0; i < 4; i++) {  // a0..a3
    const int row = i == 0 || i == 2 ? group : group + 8, column = i < 2 ? in_group : in_group + 4;
    photic_rows[warp][row][column] = photic_tf32(a[i]);
  }
  for (int i = 0; i < 2; i++)  // b0, b1
    photic_columns[warp][i == 0 ? in_group : in_group + 4][group] = photic_tf32(b[i]);
  __syncthreads();
  for (int i = 0; i < 4; i++) {  // c0..c3
    const int row = i < 2 ? group : group + 8, column = in_group * 2 + (i & 1);
    for (int k = 0; k < 8; k++)
      *c[i] += photic_rows[warp][row][k] * photic_columns[warp][k][column];
  }
  __syncthreads();
}
static inline void multiply_f32(float &c0, float &c1, float &c2, float &c3, int a0, int a1, int a2,
                                int a3, int b0, int b1) {
  float *c[] = {&c0, &c1, &c2, &c3};
  const int a[] = {a0, a1, a2, a3}, b[] = {b0, b1};
  photic_multiply_f32(c, a, b);
}
#define PHOTIC_MATRIX(name, is_bf16)                                                          \
  static inline void name(float &c0, float &c1, float &c2, float &c3, int a0, int a1, int a2, \
                          int a3, int b0, int b1) {                                           \
    float *c[] = {&c0, &c1, &c2, &c3};                                                        \
    const int a[] = {a0, a1, a2, a3}, b[] = {b0, b1};                                         \
    photic_multiply(c, a, b, is_bf16);                                                        \
  }
PHOTIC_MATRIX(multiply_bf16, true)
PHOTIC_MATRIX(multiply_f16, false)
#else
#define __shared__ static_assert(false, "SHARES is not defined");
#endif

// All work-items of a launch.
template <class... A>
static void photic_run(void (*kernel)(A...), void **given, unsigned groups, unsigned group,
                       int backwards) {
  const unsigned long long total = (unsigned long long)groups * group;
  gridDim.x = groups, blockDim.x = group;
#ifdef SHARES
  while (__atomic_test_and_set(&photic_is_busy, __ATOMIC_ACQUIRE)) {}
  photic_group<A...>::kernel = kernel, photic_group<A...>::given = given;
  for (unsigned k = 0; k < groups; k++) {
    blockIdx.x = backwards ? groups - 1 - k : k;
    photic_group<A...>::run(group, backwards);
  }
  __atomic_clear(&photic_is_busy, __ATOMIC_RELEASE);
  return;
#endif
  for (unsigned long long k = 0; k < total; k++) {
    const unsigned long long item = backwards ? total - 1 - k : k;
    blockIdx.x = (unsigned)(item / group), threadIdx.x = (unsigned)(item % group);
    photic_call(kernel, given, __make_integer_seq<photic_numbers, int, sizeof...(A)>());
  }
}
