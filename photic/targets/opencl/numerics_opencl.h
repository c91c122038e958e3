// Templates: what the c target's templates say in a way that is not OpenCL C. Notation and promises:
// photic/targets/c/numerics.py. Every load and store is of elements at their natural alignment.

//: bits : ALL : any
INLINE $I bits_$T($T v) { return __builtin_astype(v, $I); }

//: frombits : ALL : any
INLINE $T frombits_$T($I v) { return __builtin_astype(v, $T); }

//: any : bool : many
INLINE boolx1 any_$T($T a) { return any_$H(lo_$T(a) | hi_$T(a)); }

// ---- memory -------------------------------------------------------------------------------

//: load : bool : any
INLINE $T load_$T(const __global void *p) { return cast_u8_$T(load_u8x$L(p)); }

//: store : bool : any
INLINE void store_$T(__global void *p, $T v) { store_u8x$L(p, cast_bool_u8x$L(v)); }

//: load_part : bool : any
INLINE $T load_part_$T(const __global void *p, i64x1 n) { return cast_u8_$T(load_part_u8x$L(p, n)); }

//: load_masked : bool : many
INLINE $T load_masked_$T(const __global void *p, $B lanes, i64x1 n) {
    return cast_u8_$T(load_masked_u8x$L(p, lanes, n));
}

//: store_part : bool : any
INLINE void store_part_$T(__global void *p, $T v, i64x1 n) {
    store_part_u8x$L(p, cast_bool_u8x$L(v), n);
}

//: load : ALL : one
INLINE $T load_$T(const __global void *p) { return *(const __global $E *)p; }

// Not vload and vstore, which drivers may leave as calls.
//: load : ALL : many
INLINE $T load_$T(const __global void *p) {
    typedef $T unaligned __attribute__((aligned($BITS / 8)));
    return *(const __global unaligned *)p;
}

//: load_ahead : ALL : many
INLINE $T load_ahead_$T(const __global void *p) { return load_$T(p); }

//: store : ALL : one
INLINE void store_$T(__global void *p, $T v) { *(__global $E *)p = v; }

//: store : ALL : many
INLINE void store_$T(__global void *p, $T v) {
    typedef $T unaligned __attribute__((aligned($BITS / 8)));
    *(__global unaligned *)p = v;
}

//: load_part : ALL : one
INLINE $T load_part_$T(const __global void *p, i64x1 n) { return n > 0 ? load_$T(p) : ($T)0; }

//: store_part : ALL : one
INLINE void store_part_$T(__global void *p, $T v, i64x1 n) {
    if (n > 0) store_$T(p, v);
}

//: load_part : ALL : many
INLINE $T load_part_$T(const __global void *p, i64x1 n) {
    $T v = ($T)(0);
    for (int i = 0; i < $L; i++) if (i < n) v[i] = ((const __global $E *)p)[i];
    return v;
}

//: load_masked : ALL : many
INLINE $T load_masked_$T(const __global void *p, $B lanes, i64x1 n) {
    $T v = ($T)(0);
    for (int i = 0; i < $L; i++) if (i < n && lanes[i]) v[i] = ((const __global $E *)p)[i];
    return v;
}

//: store_part : ALL : many
INLINE void store_part_$T(__global void *p, $T v, i64x1 n) {
    for (int i = 0; i < $L; i++) if (i < n) ((__global $E *)p)[i] = v[i];
}

//: gather : bool : many
INLINE $T gather_$T(const __global void *base, i64x$L index, $B lanes, i64x1 n) {
    return cast_u8_$T(gather_u8x$L(base, index, lanes, n));
}

//: store_pairs : bool : many
INLINE void store_pairs_$T(__global void *p, $T a, $T b) {
    store_pairs_u8x$L(p, cast_bool_u8x$L(a), cast_bool_u8x$L(b));
}

//: store_pairs : ALL : many
INLINE void store_pairs_$T(__global void *p, $T a, $T b) {
    for (int i = 0; i < $L; i++) {
        ((__global $E *)p)[2 * i] = a[i];
        ((__global $E *)p)[2 * i + 1] = b[i];
    }
}

//: store_pairs_part : bool : many
INLINE void store_pairs_part_$T(__global void *p, $T a, $T b, i64x1 n) {
    store_pairs_part_u8x$L(p, cast_bool_u8x$L(a), cast_bool_u8x$L(b), n);
}

//: store_pairs_part : ALL : many
INLINE void store_pairs_part_$T(__global void *p, $T a, $T b, i64x1 n) {
    for (int i = 0; i < $L; i++)
        if (i < n) {
            ((__global $E *)p)[2 * i] = a[i];
            ((__global $E *)p)[2 * i + 1] = b[i];
        }
}

//: store_fours : bool : many
INLINE void store_fours_$T(__global void *p, $T a, $T b, $T c, $T d, i64x1 step) {
    store_fours_u8x$L(p, cast_bool_u8x$L(a), cast_bool_u8x$L(b), cast_bool_u8x$L(c),
                      cast_bool_u8x$L(d), step);
}

//: store_fours : ALL : many
INLINE void store_fours_$T(__global void *p, $T a, $T b, $T c, $T d, i64x1 step) {
    for (int i = 0; i < $L; i++) {
        __global $E *to = (__global $E *)p + i * step;
        to[0] = a[i];
        to[1] = b[i];
        to[2] = c[i];
        to[3] = d[i];
    }
}

//: load_even : bool : many
INLINE $T load_even_$T(const __global void *p, i64x1 step) {
    return cast_u8_$T(load_even_u8x$L(p, step));
}

//: load_even_masked : bool : many
INLINE $T load_even_masked_$T(const __global void *p, i64x1 step, $B lanes, i64x1 n) {
    return cast_u8_$T(load_even_masked_u8x$L(p, step, lanes, n));
}

//: gather : ALL : many
INLINE $T gather_$T(const __global void *base, i64x$L index, $B lanes, i64x1 n) {
    $T v = ($T)(0);
    for (int i = 0; i < $L; i++)
        if (i < n && lanes[i]) v[i] = ((const __global $E *)base)[index[i]];
    return v;
}

//: load_even : ALL : many
INLINE $T load_even_$T(const __global void *p, i64x1 step) {
    $T v = ($T)(0);
    for (int i = 0; i < $L; i++) v[i] = ((const __global $E *)p)[i * step];
    return v;
}

//: load_even_masked : ALL : many
INLINE $T load_even_masked_$T(const __global void *p, i64x1 step, $B lanes, i64x1 n) {
    $T v = ($T)(0);
    for (int i = 0; i < $L; i++)
        if (i < n && lanes[i]) v[i] = ((const __global $E *)p)[i * step];
    return v;
}

// ---- integers: signed overflow wraps only in vectors ----------------------------------------

//: add : i64 : one
INLINE $T add_$T($T a, $T b) { return ($T)((ulong)a + (ulong)b); }

//: mul : i64 : one
INLINE $T mul_$T($T a, $T b) { return ($T)((ulong)a * (ulong)b); }

//: fma : i64 : one
INLINE $T fma_$T($T a, $T b, $T c) { return ($T)((ulong)a * (ulong)b + (ulong)c); }

//: add : i32 i16 i8 u8 : one
INLINE $T add_$T($T a, $T b) { return ($T)((uint)a + (uint)b); }

//: mul : i32 i16 i8 u8 : one
INLINE $T mul_$T($T a, $T b) { return ($T)((uint)a * (uint)b); }

//: fma : i32 i16 i8 u8 : one
INLINE $T fma_$T($T a, $T b, $T c) { return ($T)((uint)a * (uint)b + (uint)c); }

//: max : INT : any
INLINE $T max_$T($T a, $T b) { return a < b ? b : a; }

//: mod : u8 : many
INLINE $T mod_$T($T a, $T b) { return a % (b == ($T)(0) ? ($T)(1) : b); }

//: mod : INT : many
INLINE $T mod_$T($T a, $T b) {
    $T divisor = ((b == ($T)(0)) | (b == ($T)(-1))) ? ($T)(1) : b;
    $T r = a % divisor;
    return ((r != ($T)(0)) & ((r ^ divisor) < ($T)(0))) ? r + divisor : r;
}

// The compiler's own multiply-add: drivers may have `fma` as a call for each lane.
//: fma : FLOAT : any
INLINE $T fma_$T($T a, $T b, $T c) {
#if HAS_FMA
#pragma OPENCL FP_CONTRACT ON
#endif
    return a * b + c;
}

// ---- casts: a literal may not be wider than the lanes -----------------------------------------

//: cast_f16 cast_bf16 : bool : many
INLINE $T cast_$FD_$T($F v) { return __builtin_convertvector((v & ($F)(0x7fff)) != ($F)(0), $T); }

//: cast_bool : INT : many
INLINE $T cast_bool_$T($F v) { return __builtin_convertvector(v & ($F)(1), $T); }

// ---- division and square root -----------------------------------------------------------------
// Without an exact instruction in float64, which is exact and wide enough to round twice.

//: sqrt : f32 : any
INLINE $T sqrt_$T($T v) {
#if EXACT_ROOTS
    return sqrt(v);
#else
    return cast_f64_$T(sqrt(cast_f32_f64x$L(v)));
#endif
}

//: sqrt : f64 : any
INLINE $T sqrt_$T($T v) { return sqrt(v); }

//: recip : f32 : any
INLINE $T recip_$T($T v) {
#if EXACT_ROOTS
    return 1.0f / v;
#else
    return cast_f64_$T(1.0 / cast_f32_f64x$L(v));
#endif
}

//: recip : f64 : any
INLINE $T recip_$T($T v) { return 1.0 / v; }

// ---- the sine of large numbers: as in numerics_elementary.h, in words of 64 bits ----------------

//: sinexact : f64 : one
__constant ulong inverse_pi[] = {
    0,
    0x517cc1b727220a94, 0xfe13abe8fa9a6ee0, 0x6db14acc9e21c820, 0xff28b1d5ef5de2b0,
    0xdb92371d2126e970, 0x0324977504e8c90e, 0x7f0ef58e5894d39f, 0x74411afa975da242,
    0x74ce38135a2fbf20, 0x9cc8eb1cc1a99cfa, 0x4e422fc5defc941d, 0x8ffc4bffef02cc07,
    0xf79788c5ad05368f, 0xb69b3f6793e584db, 0xa7a31fb34f2ff516, 0xba93dd63f5f2f8bd,
    0x9e839cfbc5294975, 0x35fdafd88fc6ae84, 0x2b0198237e3db5d5, 0xf867de104d7a1b0e,
};
static __attribute__((noinline)) f64x1 sinexact_f64x1(f64x1 x) {
    ulong u = (ulong)bits_f64x1(x), exponent = (u >> 52) & 0x7ff;
    if (exponent == 0x7ff) return x - x;
    ulong m = (u & 0xffffffffffffful) | 1ul << 52;
    ulong offset = exponent - 1075 + 63, up = offset % 64, w[3];
    __constant const ulong *at = inverse_pi + offset / 64;
    for (int i = 0; i < 3; i++) w[i] = up ? at[i] << up | at[i + 1] >> (64 - up) : at[i];
    ulong p2 = m * w[2], p1 = m * w[1] + mul_hi(m, w[2]);
    ulong p0 = m * w[0] + mul_hi(m, w[1]) + (p1 < mul_hi(m, w[2]));
    ulong quadrant = p0 >> 62, minus = (p0 >> 61) & 1;
    p0 = p0 << 2 | p1 >> 62, p1 = p1 << 2 | p2 >> 62;
    if (minus) p0 = ~p0, p1 = ~p1, quadrant++;
    ulong zeros = p0 ? clz(p0) : 64 + clz(p1 | 1);
    ulong top = zeros == 0 ? p0 : zeros < 64 ? p0 << zeros | p1 >> (64 - zeros) : p1 << (zeros - 64);
    ulong r = mul_hi(top, 0xc90fdaa22168c234ul);
    f64x1 scale = frombits_f64x1((i64x1)((1023 - 63 - zeros) << 52 | minus << 63));
    f64x1 high = (f64x1)r, rest = (f64x1)(i64x1)(r - (ulong)high);
    f64x1 y = sinpart_f64x1(high * scale, rest * scale, (i64x1)quadrant);
    return frombits_f64x1(bits_f64x1(y) ^ (i64x1)(u & 1ul << 63));
}
