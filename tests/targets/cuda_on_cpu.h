// What CUDA C++ has and C++ has not, for texts of the cuda target that a processor is to run.
// Work-items run one after the other, in either order: none may depend on another. A barrier is an
// error of the compiler here, as it could not be kept.

struct photic_place { unsigned x, y, z; };
static thread_local photic_place threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static_assert(false, "work-items that share memory need barriers");
#define __syncthreads() static_assert(false, "work-items run one after the other here")
#define __syncwarp(...) static_assert(false, "work-items run one after the other here")

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
// All work-items of a launch.
template <class... A>
static void photic_run(void (*kernel)(A...), void **given, unsigned groups, unsigned group,
                       int backwards) {
  const unsigned long long total = (unsigned long long)groups * group;
  gridDim.x = groups, blockDim.x = group;
  for (unsigned long long k = 0; k < total; k++) {
    const unsigned long long item = backwards ? total - 1 - k : k;
    blockIdx.x = (unsigned)(item / group), threadIdx.x = (unsigned)(item % group);
    photic_call(kernel, given, __make_integer_seq<photic_numbers, int, sizeof...(A)>());
  }
}
