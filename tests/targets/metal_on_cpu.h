// What Metal's language has and C++ has not, for texts of the metal target that a processor is to
// run. Address spaces are Clang's, so that a pointer to one is not taken for a pointer to another.
// Work-items run one after the other, in either order: none may depend on another. Memory that they
// would share, and a barrier, are errors of the compiler here.

#define __METAL_VERSION__ 310
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define thread
#define kernel extern "C"
#define threadgroup static_assert(false, "work-items that share memory need barriers")
#define threadgroup_barrier(...) static_assert(false, "work-items run one after the other here")
typedef unsigned uint;
typedef _Float16 half;

template <class R, class T> static inline R as_type(T v) { return __builtin_bit_cast(R, v); }
namespace metal {
static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float sqrt(float a) { return __builtin_sqrtf(a); }
static inline uint clz(uint a) { return a ? (uint)__builtin_clz(a) : 32; }
}

template <class T> struct photic_argument {
  static T of(void *at) { return *(T *)at; }
};
template <class T> struct photic_argument<T &> {
  static T &of(void *at) { return *(T *)*(unsigned long *)at; }
};
template <class T, T... I> struct photic_numbers {};
template <class... A, int... I>
static void photic_call(void (*run)(A...), void **given, photic_numbers<int, I...>) {
  run(photic_argument<A>::of(given[I])...);
}
// All work-items of a launch; the last argument is a work-item's number.
template <class... A>
static void photic_run(void (*run)(A...), void **given, unsigned groups, unsigned group,
                       int backwards) {
  const uint total = groups * group;
  for (uint k = 0; k < total; k++) {
    uint item = backwards ? total - 1 - k : k;
    given[sizeof...(A) - 1] = &item;
    photic_call(run, given, __make_integer_seq<photic_numbers, int, sizeof...(A)>());
  }
}
