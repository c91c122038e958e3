// The head of every text for CUDA, HIP and Metal: what the prelude needs of C++ in place of Clang's
// vectors. It is C++ that any compiler takes once a dialect has said how it spells what is not:
// casts of half types, roots, fused multiply-adds. PRIVATE is the memory of a work-item.

// What the processor of a host could do is not what kernels are written for.
#undef __aarch64__
#undef __AVX2__
#undef __AVX512F__
#undef __F16C__
#undef __FMA__
#define __FMA__ 1
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#define restrict __restrict__
#define INSIDE inline __attribute__((always_inline))
#define LANES static INSIDE
typedef long long int64_t;
#ifndef PRIVATE
#define PRIVATE
#endif

// ---- numbers ------------------------------------------------------------------------------
// Integers of a dtype's width for its bits, and a type that wraps for its sums.

template <class T> struct number;
#ifndef __METAL_VERSION__
template <> struct number<double> { typedef long long bits; typedef double wide; };
#endif
template <> struct number<float> { typedef int bits; typedef float wide; };
template <> struct number<long long> { typedef long long bits; typedef unsigned long long wide; };
template <> struct number<int> { typedef int bits; typedef unsigned wide; };
template <> struct number<short> { typedef short bits; typedef unsigned wide; };
template <> struct number<unsigned short> { typedef short bits; typedef unsigned wide; };
template <> struct number<signed char> { typedef signed char bits; typedef unsigned wide; };
template <> struct number<unsigned char> { typedef signed char bits; typedef unsigned wide; };
template <class T> using wide = typename number<T>::wide;

#ifndef __METAL_VERSION__
template <class R, class T> LANES R same_bits(T v) {
  union { T value; R bits; } u = {v};
  return u.bits;
}
#endif

LANES int64_t floor_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
LANES int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
LANES int clamp(int64_t a) {
  return a < -(1 << 30) ? -(1 << 30) : a > (1 << 30) ? (1 << 30) : (int)a;
}
LANES int lane_count(int64_t left, int width) {
  return left < 0 ? 0 : left > width ? width : (int)left;
}

LANES float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
LANES float root(float a) { return __fsqrt_rn(a); }
#ifndef __METAL_VERSION__
LANES double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
LANES double root(double a) { return __dsqrt_rn(a); }
LANES double whole(double a) { return trunc(a); }
#endif
template <class T> LANES T larger(T a, T b) { return a < b ? b : a; }
#ifdef __CUDACC_RTC__
LANES unsigned short half_of(float v) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(v));
  return half;
}
LANES float single_of(unsigned short v) {
  float single;
  asm("cvt.f32.f16 %0, %1;" : "=f"(single) : "h"(v));
  return single;
}
#elif !defined(__METAL_VERSION__)
LANES unsigned short half_of(float v) { return same_bits<unsigned short>((_Float16)v); }
LANES float single_of(unsigned short v) { return (float)same_bits<_Float16>(v); }
#endif

// ---- lanes --------------------------------------------------------------------------------
// Numbers side by side, in registers: every loop over them is unrolled. Lanes of values that do not
// change are chosen, not addressed, as registers have no addresses.

#define EACH_LANE _Pragma("unroll") for (int i = 0; i < N; i++)
#define LANES_BINARY(op, W)                            \
  friend INSIDE lanes operator op(lanes a, lanes b) {  \
    lanes r;                                           \
    EACH_LANE r.at[i] = (T)((W)a.at[i] op (W)b.at[i]); \
    return r;                                          \
  }
#define LANES_COMPARED(op)                             \
  friend INSIDE bits operator op(lanes a, lanes b) {   \
    bits r;                                            \
    EACH_LANE r.at[i] = -(a.at[i] op b.at[i]);         \
    return r;                                          \
  }

template <class T, int N> struct lanes {
  typedef T element;
  typedef lanes<typename number<T>::bits, N> bits;
  T at[N];

  lanes() = default;
  INSIDE lanes(T value) { EACH_LANE at[i] = value; }
  INSIDE PRIVATE T &operator[](int lane) { return at[lane]; }
  INSIDE T operator[](int lane) const {
    T found = at[0];
    EACH_LANE found = i == lane ? at[i] : found;
    return found;
  }
  LANES_BINARY(+, wide<T>)
  LANES_BINARY(-, wide<T>)
  LANES_BINARY(*, wide<T>)
  LANES_BINARY(/, T)
  LANES_BINARY(%, T)
  LANES_BINARY(&, T)
  LANES_BINARY(|, T)
  LANES_BINARY(^, T)
  LANES_BINARY(<<, wide<T>)
  LANES_BINARY(>>, T)
  LANES_COMPARED(<)
  LANES_COMPARED(<=)
  LANES_COMPARED(==)
  LANES_COMPARED(!=)
  friend INSIDE lanes operator-(lanes a) {
    lanes r;
    EACH_LANE r.at[i] = (T)-a.at[i];
    return r;
  }
  friend INSIDE lanes operator~(lanes a) {
    lanes r;
    EACH_LANE r.at[i] = (T)~a.at[i];
    return r;
  }
  friend INSIDE lanes fused(lanes a, lanes b, lanes c) {
    lanes r;
    EACH_LANE r.at[i] = fused(a.at[i], b.at[i], c.at[i]);
    return r;
  }
  friend INSIDE lanes root(lanes a) {
    lanes r;
    EACH_LANE r.at[i] = root(a.at[i]);
    return r;
  }
  friend INSIDE lanes whole(lanes a) {
    lanes r;
    EACH_LANE r.at[i] = whole(a.at[i]);
    return r;
  }
  friend INSIDE lanes larger(lanes a, lanes b) {
    lanes r;
    EACH_LANE r.at[i] = larger(a.at[i], b.at[i]);
    return r;
  }
};

template <class T, int N>
LANES PRIVATE lanes<T, N> &operator+=(PRIVATE lanes<T, N> &a, lanes<T, N> b) {
  return a = a + b;
}

template <class R, class T, int N> LANES R converted(lanes<T, N> v) {
  R r;
  EACH_LANE r.at[i] = (typename R::element)v.at[i];
  return r;
}

template <class R, class T, int N> LANES R lane_bits(lanes<T, N> v) {
  R r;
  EACH_LANE r.at[i] = same_bits<typename R::element>(v.at[i]);
  return r;
}

template <class T, int N> LANES lanes<T, N> chosen(lanes<int, N> c, lanes<T, N> a, lanes<T, N> b) {
  lanes<T, N> r;
  EACH_LANE r.at[i] = c.at[i] ? a.at[i] : b.at[i];
  return r;
}

template <class T, int N> LANES lanes<T, N> numbered() {
  lanes<T, N> r;
  EACH_LANE r.at[i] = (T)i;
  return r;
}

template <int M, class T, int N> LANES lanes<T, N / 2> half_from(lanes<T, N> v) {
  lanes<T, N / 2> r;
  _Pragma("unroll") for (int i = 0; i < N / 2; i++) r.at[i] = v.at[i + M];
  return r;
}

template <class T, int N> LANES lanes<T, 2 * N> joined(lanes<T, N> low, lanes<T, N> high) {
  lanes<T, 2 * N> r;
  EACH_LANE r.at[i] = low.at[i];
  EACH_LANE r.at[i + N] = high.at[i];
  return r;
}

// ---- what the c target's templates call ----------------------------------------------------

#define __builtin_convertvector(v, R) converted<R>(v)
#define __builtin_elementwise_fma(a, b, c) fused(a, b, c)
#define __builtin_elementwise_sqrt(v) root(v)
#define __builtin_elementwise_trunc(v) whole(v)
#define __builtin_elementwise_max(a, b) larger(a, b)
#define __builtin_clzll(v) __clzll((long long)(v))
#define __builtin_inff() same_bits<float>(0x7f800000)
#define __builtin_inf() same_bits<double>(0x7ff0000000000000ll)
#define __builtin_nanf(text) same_bits<float>(0x7fc00000)
#define __builtin_nan(text) same_bits<double>(0x7ff8000000000000ll)
