// Templates: what other targets' templates say in a way that is not Metal's language. Notation and
// promises: photic/targets/c/numerics.py. There is no float64: integers take its place.

//: bits : ALL : one
INLINE $I bits_$T($T v) { return as_type<$I>(v); }

//: frombits : ALL : one
INLINE $T frombits_$T($I v) { return as_type<$T>(v); }

// ---- casts ------------------------------------------------------------------------------------
// An integer that float32 rounds is larger than any float16.

//: cast_i32 cast_i64 : f16 : any
INLINE $T cast_$FD_$T($F v) { return cast_f32_$T(cast_$FD_f32x$L(v)); }

// Rounding to odd at 24 bits first makes the second rounding right.
//: cast_i64 : bf16 : any
INLINE $T cast_i64_$T($F v) {
    f32x$L near = cast_i64_f32x$L(v);
    $F back = cast_f32_$F(near);
    i32x$L u = bits_f32x$L(near);
    boolx$L over = (lt_$F(v, back) & lt_$F(($F)(0), v)) | (lt_$F(back, v) & lt_$F(v, ($F)(0)));
    return cast_f32_$T(frombits_f32x$L(sel_i32x$L(eq_$F(back, v), u, (u + over) | 1)));
}

//: cast_i32 : bf16 : any
INLINE $T cast_i32_$T($F v) { return cast_i64_$T(cast_i32_i64x$L(v)); }

// ---- sin: |x| = q * pi + r, |r| <= pi/2; of 2/pi the bits that matter for x ------------------------

//: sin : f32 : many
INLINE $T sin_$T($T x) {
    $T y;
#pragma unroll
    for (int i = 0; i < $L; i++) y.at[i] = sin_$E(x.at[i]);
    return y;
}

//: sin : f32 : one
constant unsigned two_over_pi[] = {
    0, 0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
};
INLINE unsigned long high_of(unsigned long a, unsigned long b) {
    unsigned long al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
    unsigned long middle = ah * bl + (al * bl >> 32), other = al * bh + (middle & 0xffffffff);
    return ah * bh + (middle >> 32) + (other >> 32);
}
static $T sin_$T($T x) {
    unsigned u = (unsigned)as_type<int>(x), exponent = (u >> 23) & 0xff;
    if (exponent == 0xff) return x - x;
    if (exponent < 115) return x;
    unsigned start = exponent - 88, at = start / 32, up = start % 32;
    unsigned long m = (u & 0x7fffff) | 0x800000, w[3];
    for (int i = 0; i < 3; i++) {
        unsigned long pair = (unsigned long)two_over_pi[at + i] << 32 | two_over_pi[at + i + 1];
        w[i] = pair << up >> 32;
    }
    unsigned long p2 = m * w[2], p1 = m * w[1] + (p2 >> 32), p0 = m * w[0] + (p1 >> 32);
    unsigned long turns = p0 << 32 | (p1 & 0xffffffff), part = turns << 1 | (p2 >> 31 & 1);
    unsigned sign = ((unsigned)(turns >> 63) ^ u >> 31) << 31;
    part = part >> 63 ? ~part : part;
    unsigned zeros = (unsigned)__clzll((long)(part | 1));
    unsigned long high = high_of(part << zeros, 0xc90fdaa22168c235ul);
    unsigned small = high >> 63 ? 0 : 1;
    high <<= small;
    unsigned near = (unsigned)(high >> 40) + (unsigned)(high >> 39 & 1);
    $T r = (float)near * as_type<float>((int)((105 - zeros - small) << 23)), z = r * r;
    $T p = fma_$T(z, 0x1.5dc80ap-19f, -0x1.9f70e8p-13f);
    p = fma_$T(z, p, 0x1.110edap-7f);
    p = fma_$T(z, p, -0x1.55554cp-3f);
    return as_type<float>(as_type<int>(fma_$T(r * z, p, r)) ^ (int)sign);
}

// ---- mod: by long division of the integers that the numbers are multiples by -----------------------

//: mod : f32 : one
INLINE $T mod_$T($T a, $T b) { return floored_$T(fmod_$T(a, b), b); }

//: mod : f32 : many
INLINE $T mod_$T($T a, $T b) {
    $T r;
#pragma unroll
    for (int i = 0; i < $L; i++) r.at[i] = mod_$E(a.at[i], b.at[i]);
    return r;
}

//: fmod : f32 : one
static $T fmod_$T($T x, $T y) {
    unsigned sign = (unsigned)as_type<int>(x) & 0x80000000;
    unsigned bx = (unsigned)as_type<int>(x) ^ sign, by = (unsigned)as_type<int>(y) & 0x7fffffff;
    if (bx >= 0x7f800000 || by > 0x7f800000 || by == 0) return __builtin_nanf("");
    if (bx < by) return x;
    unsigned ex = bx >> 23, ey = by >> 23;
    unsigned mx = ex ? (bx & 0x7fffff) | 0x800000 : bx, my = ey ? (by & 0x7fffff) | 0x800000 : by;
    ex = ex ? ex : 1, ey = ey ? ey : 1;
    unsigned long r = mx % my;
    for (unsigned left = ex - ey; left > 0;) {
        unsigned step = left < 40 ? left : 40;
        r = (r << step) % my, left -= step;
    }
    unsigned rest = (unsigned)r, up = rest ? (unsigned)__clzll((long)r) - 40 : 0;
    unsigned whole = up < ey ? (ey - up) << 23 | ((rest << up) & 0x7fffff) : rest << (ey - 1);
    return as_type<float>((int)((rest ? whole : 0) | sign));
}
