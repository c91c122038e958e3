// Templates: square root, reciprocal, exp2, log2, sin. The polynomials are minimax fits of our own
// (Lawson's iteration, each coefficient rounded and the rest fitted again). Errors: bench/ulp.py.

//: abs : f32 : any
INLINE $T abs_$T($T v) { return frombits_$T(bits_$T(v) & 0x7fffffff); }

//: abs : f64 : any
INLINE $T abs_$T($T v) { return frombits_$T(bits_$T(v) & 0x7fffffffffffffffll); }

//: signbits : f32 : any
INLINE $I signbits_$T($T v) { return bits_$T(v) & ~0x7fffffff; }

//: signbits : f64 : any
INLINE $I signbits_$T($T v) { return bits_$T(v) & ~0x7fffffffffffffffll; }

//: copysign : FLOAT : any
INLINE $T copysign_$T($T v, $T sign) { return frombits_$T(bits_$T(abs_$T(v)) | signbits_$T(sign)); }

//: sqrt : FLOAT : any
INLINE $T sqrt_$T($T v) { return __builtin_elementwise_sqrt(v); }

//: recip : FLOAT : any
INLINE $T recip_$T($T v) { return 1 / v; }

// A vector wider than a register is worked on in halves.
//: exp2 log2 sin : FLOAT : wide
INLINE $T $O_$T($T v) { return cat_$T($O_$H(lo_$T(v)), $O_$H(hi_$T(v))); }

//: mod : f64 : wide
INLINE $T mod_$T($T a, $T b) {
    return cat_$T(mod_$H(lo_$T(a), lo_$T(b)), mod_$H(hi_$T(a), hi_$T(b)));
}

// ---- exp2: x = n + f, |f| <= 1/2, 2^x = 2^n * p(f) ------------------------------------------------

//: exp2 : FLOAT : native
INLINE $T exp2_$T($T x) {
#if HAS_SCALE
    return exp2scale_$T(x);
#else
    return exp2steps_$T(x);
#endif
}

//: exp2 : FLOAT : any
INLINE $T exp2_$T($T x) { return exp2steps_$T(x); }

//: exp2part : f32 : any
INLINE $T exp2part_$T($T f) {
    $T p = fma_$T(f, ($T)(0x1.417a7p-13f), ($T)(0x1.5f0948p-10f));
    p = fma_$T(f, p, ($T)(0x1.3b2dd2p-7f));
    p = fma_$T(f, p, ($T)(0x1.c6af7ap-5f));
    p = fma_$T(f, p, ($T)(0x1.ebfbdcp-3f));
    p = fma_$T(f, p, ($T)(0x1.62e43p-1f));
    return fma_$T(f, p, ($T)(1));
}

//: exp2part : f64 : any
INLINE $T exp2part_$T($T f) {
    $T p = fma_$T(f, ($T)(0x1.e80b6634dc6a0p-32), ($T)(0x1.e611a39d26473p-28));
    p = fma_$T(f, p, ($T)(0x1.b5260ffe74d32p-24));
    p = fma_$T(f, p, ($T)(0x1.62bfcddc7553ap-20));
    p = fma_$T(f, p, ($T)(0x1.ffcbfbf7a2e2ep-17));
    p = fma_$T(f, p, ($T)(0x1.4309130c01e89p-13));
    p = fma_$T(f, p, ($T)(0x1.5d87fe78b3f45p-10));
    p = fma_$T(f, p, ($T)(0x1.3b2ab6fba11f2p-7));
    p = fma_$T(f, p, ($T)(0x1.c6b08d704a0d3p-5));
    p = fma_$T(f, p, ($T)(0x1.ebfbdff82c59cp-3));
    p = fma_$T(f, p, ($T)(0x1.62e42fefa39efp-1));
    return fma_$T(f, p, ($T)(1));
}

// Adding 1.5 * 2^23 + 126 rounds x and leaves n + 126, the exponent field of 2^(n - 1), in the low
// bits. Arguments with subnormal results are lifted by 64 and the result is scaled once.
//: exp2steps : f32 : any
INLINE $T exp2steps_$T($T x) {
    x = sel_$T(lt_$T(x, ($T)(-151.0f)), ($T)(-151.0f), x);
    x = sel_$T(lt_$T(($T)(128.0f), x), ($T)(128.0f), x);
    $B small = lt_$T(x, ($T)(-125.0f));
    x += sel_$T(small, ($T)(64.0f), ($T)(0.0f));
    $T shifted = x + (12582912.0f + 126.0f);
    $T f = x - (shifted - (12582912.0f + 126.0f));
    $T scale = frombits_$T(bits_$T(shifted) << 23);
    return exp2part_$T(f) * scale * sel_$T(small, ($T)(0x1p-63f), ($T)(2.0f));
}

// The same with 1.5 * 2^52 + 1022 and a lift of 128.
//: exp2steps : f64 : any
INLINE $T exp2steps_$T($T x) {
    x = sel_$T(lt_$T(x, ($T)(-1076.0)), ($T)(-1076.0), x);
    x = sel_$T(lt_$T(($T)(1024.0), x), ($T)(1024.0), x);
    $B small = lt_$T(x, ($T)(-1021.0));
    x += sel_$T(small, ($T)(128.0), ($T)(0.0));
    $T shifted = x + (0x1.8p52 + 1022.0);
    $T f = x - (shifted - (0x1.8p52 + 1022.0));
    $T scale = frombits_$T(bits_$T(shifted) << 52);
    return exp2part_$T(f) * scale * sel_$T(small, ($T)(0x1p-127), ($T)(2.0));
}

// AVX-512: reduce gives x - rint(x), 0 at infinities; scalef gives x * 2^n, rounded once.
//: exp2scale : f32 : 16
#if HAS_SCALE
INLINE $T exp2scale_$T($T x) {
    $T f = __builtin_ia32_reduceps512_mask(x, 0, x, (unsigned short)-1, 4);
    return __builtin_ia32_scalefps512_mask(exp2part_$T(f), x - f, x, (unsigned short)-1, 4);
}
#endif

//: exp2scale : f32 : 8
#if HAS_SCALE
INLINE $T exp2scale_$T($T x) {
    $T f = __builtin_ia32_reduceps256_mask(x, 0, x, (unsigned char)-1);
    return __builtin_ia32_scalefps256_mask(exp2part_$T(f), x - f, x, (unsigned char)-1);
}
#endif

//: exp2scale : f32 : 4
#if HAS_SCALE
INLINE $T exp2scale_$T($T x) {
    $T f = __builtin_ia32_reduceps128_mask(x, 0, x, (unsigned char)-1);
    return __builtin_ia32_scalefps128_mask(exp2part_$T(f), x - f, x, (unsigned char)-1);
}
#endif

//: exp2scale : f64 : 8
#if HAS_SCALE
INLINE $T exp2scale_$T($T x) {
    $T f = __builtin_ia32_reducepd512_mask(x, 0, x, (unsigned char)-1, 4);
    return __builtin_ia32_scalefpd512_mask(exp2part_$T(f), x - f, x, (unsigned char)-1, 4);
}
#endif

//: exp2scale : f64 : 4
#if HAS_SCALE
INLINE $T exp2scale_$T($T x) {
    $T f = __builtin_ia32_reducepd256_mask(x, 0, x, (unsigned char)-1);
    return __builtin_ia32_scalefpd256_mask(exp2part_$T(f), x - f, x, (unsigned char)-1);
}
#endif

//: exp2scale : f64 : 2
#if HAS_SCALE
INLINE $T exp2scale_$T($T x) {
    $T f = __builtin_ia32_reducepd128_mask(x, 0, x, (unsigned char)-1);
    return __builtin_ia32_scalefpd128_mask(exp2part_$T(f), x - f, x, (unsigned char)-1);
}
#endif

// ---- log2: x = 2^e * m, sqrt(1/2) <= m < sqrt(2) ----------------------------------------------------

// r = m - 1 is exact; log2(1 + r) = r * (high + low) + r^2 * q(r). high has 12 bits, so that without
// a fused multiply-add its product with the first 12 bits of r is exact all the same.
//: log2 : f32 : any
INLINE $T log2_$T($T x) {
    $B tiny = lt_$T(x, ($T)(0x1p-126f));
    $I i = bits_$T(sel_$T(tiny, x * 0x1p23f, x)) - 0x3f3504f3;
    $T e = frombits_$T((i >> 23) + 0x4b400000) - sel_$T(tiny, ($T)(12582912.0f + 23.0f),
                                                        ($T)(12582912.0f));
    $T r = frombits_$T((i & 0x7fffff) + 0x3f3504f3) - 1.0f;
    $T q = fma_$T(r, ($T)(0x1.8aebc6p-4f), ($T)(-0x1.574ab2p-3f));
    q = fma_$T(r, q, ($T)(0x1.5f5bdp-3f));
    q = fma_$T(r, q, ($T)(-0x1.6eef5cp-3f));
    q = fma_$T(r, q, ($T)(0x1.a42aap-3f));
    q = fma_$T(r, q, ($T)(-0x1.ec71dp-3f));
    q = fma_$T(r, q, ($T)(0x1.277e66p-2f));
    q = fma_$T(r, q, ($T)(-0x1.7154acp-2f));
    q = fma_$T(r, q, ($T)(0x1.ec708cp-2f));
    q = fma_$T(r, q, ($T)(-0x1.715476p-1f));
    $T low = fma_$T(r, ($T)(-0x1.7135a8p-13f), r * r * q);
#if HAS_FMA
    return logedges_$T(x, fma_$T(r, ($T)(0x1.716p+0f), low) + e);
#else
    $T head = frombits_$T(bits_$T(r) & ~0xfff);
    return logedges_$T(x, head * 0x1.716p+0f + (low + (r - head) * 0x1.716p+0f) + e);
#endif
}

// s = r / (2 + r); log(1 + r) = r - r^2/2 + s * (r^2/2 + s^2 * q(s^2)), the leading part kept in
// 21 bits, so that its product with the 21 leading bits of 1/ln 2 is exact (as in fdlibm's log2).
//: log2 : f64 : any
INLINE $T log2_$T($T x) {
    $B tiny = lt_$T(x, ($T)(0x1p-1022));
    $I i = bits_$T(sel_$T(tiny, x * 0x1p52, x)) - 0x3fe6a09e667f3bcdll;
    $T e = frombits_$T((i >> 52) + 0x4338000000000000ll) - sel_$T(tiny, ($T)(0x1.8p52 + 52.0),
                                                                  ($T)(0x1.8p52));
    $T r = frombits_$T((i & 0xfffffffffffffll) + 0x3fe6a09e667f3bcdll) - 1.0;
    $T s = r / (r + 2.0), z = s * s;
    $T q = fma_$T(z, ($T)(0x1.2f026042c910fp-3), ($T)(0x1.39a20a83aab32p-3));
    q = fma_$T(z, q, ($T)(0x1.74663badbb8f0p-3));
    q = fma_$T(z, q, ($T)(0x1.c71c5219ecda5p-3));
    q = fma_$T(z, q, ($T)(0x1.24924941db740p-2));
    q = fma_$T(z, q, ($T)(0x1.999999997ff61p-2));
    q = fma_$T(z, q, ($T)(0x1.5555555555592p-1));
    $T square = 0.5 * r * r;
    $T high = frombits_$T(bits_$T(r - square) & ~0xffffffffll);
    $T low = (r - high) - square + s * (square + z * q);
    $T lead = high * 0x1.71547p+0;
    $T rest = (low + high) * 0x1.94ae0bf85ddf4p-22 + low * 0x1.71547p+0;
    $T sum = e + lead;
    return logedges_$T(x, sum + (rest + ((e - sum) + lead)));
}

//: logedges : FLOAT : any
INLINE $T logedges_$T($T x, $T y) {
    $T infinity = ($T)(__builtin_inff());
    y = sel_$T(eq_$T(x, infinity), x, y);
    return sel_$T(lt_$T(($T)(0), x), y,
                  sel_$T(eq_$T(x, ($T)(0)), -infinity, ($T)(__builtin_nanf(""))));
}

// ---- sin: |x| = q * pi + r, |r| <= pi/2 --------------------------------------------------------------

// pi in two parts, 33 and 53 bits: q < 2^20 makes the first product exact.
//: sin : f32 : any
INLINE $T sin_$T($T x) {
    f64x$L a = cast_f32_f64x$L(abs_$T(x));
    f64x$L shifted = a * 0x1.45f306dc9c883p-2 + 0x1.8p52;
    f64x$L q = shifted - 0x1.8p52;
    f64x$L wide = fma_f64x$L(q, (f64x$L)(-0x1.921fb544p+1), a);
    wide = fma_f64x$L(q, (f64x$L)(-0x1.0b4611a626331p-33), wide);
    $I sign = (cast_i64_$I(bits_f64x$L(shifted)) << 31) ^ signbits_$T(x);
    $T y = frombits_$T(bits_$T(sinpart_$T(wide)) ^ sign);
    return sinfar_$T(y, x, ~lt_$T(abs_$T(x), ($T)(0x1p21f)));
}

// sin(r) = r + r^3 * p(r^2); without a fused multiply-add float32 would err by 1.994 ulp.
//: sinpart : f32 : any
INLINE $T sinpart_$T(f64x$L wide) {
#if HAS_FMA
    $T r = cast_f64_$T(wide), z = r * r;
    $T p = fma_$T(z, ($T)(0x1.5dc80ap-19f), ($T)(-0x1.9f70e8p-13f));
    p = fma_$T(z, p, ($T)(0x1.110edap-7f));
    p = fma_$T(z, p, ($T)(-0x1.55554cp-3f));
    return fma_$T(r * z, p, r);
#else
    f64x$L z = wide * wide;
    f64x$L p = ((z * 0x1.5dc80ap-19 - 0x1.9f70e8p-13) * z + 0x1.110edap-7) * z - 0x1.55554cp-3;
    return cast_f64_$T(wide + wide * z * p);
#endif
}

// |x| = q * pi/2 + r, |r| <= pi/4: pi/2 in three parts, 33, 33 and 53 bits, and r in two. An r under
// 2^-30 needs more and counts as far.
//: sin : f64 : any
INLINE $T sin_$T($T x) {
    $T a = abs_$T(x);
    $T shifted = a * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    $T q = shifted - 0x1.8p52;
    $T wide = a - q * 0x1.921fb544p+0, next = q * 0x1.0b4611a6p-34;
    $T r = wide - next, gone = r - wide;
    $T low = (wide - (r - gone)) - (next + gone) - q * 0x1.3198a2e037073p-69;
    $T high = r + low;
    $T y = sinpart_$T(high, (r - high) + low, bits_$T(shifted));
    $B far = ~lt_$T(a, ($T)(0x1p20)) | (lt_$T(abs_$T(high), ($T)(0x1p-30)) & lt_$T(($T)(1.0), a));
    return sinfar_$T(frombits_$T(bits_$T(y) ^ signbits_$T(x)), x, far);
}

// sin(quadrant * pi/2 + high + low), low at most half a unit in the last place of high.
//: sinpart : f64 : any
INLINE $T sinpart_$T($T high, $T low, $I quadrant) {
    $T z = high * high, half = 0.5 * z, most = 1.0 - half;
    $T p = fma_$T(z, ($T)(0x1.5d8b9f1571786p-33), ($T)(-0x1.ae5e4c196eaffp-26));
    p = fma_$T(z, p, ($T)(0x1.71de355594ee8p-19));
    p = fma_$T(z, p, ($T)(-0x1.a01a019be9691p-13));
    p = fma_$T(z, p, ($T)(0x1.111111110f731p-7));
    p = fma_$T(z, p, ($T)(-0x1.5555555555548p-3));
    $T sine = high + fma_$T(high * z, p, low * most);
    p = fma_$T(z, ($T)(-0x1.8fa68099a196dp-37), ($T)(0x1.1ee9dbcc527ecp-29));
    p = fma_$T(z, p, ($T)(-0x1.27e4f7f1909dfp-22));
    p = fma_$T(z, p, ($T)(0x1.a01a019c8f24ep-16));
    p = fma_$T(z, p, ($T)(-0x1.6c16c16c15015p-10));
    p = fma_$T(z, p, ($T)(0x1.555555555554bp-5));
    $T cosine = most + (((1.0 - most) - half) + fma_$T(z * z, p, -high * low));
    $T y = sel_$T(eq_$I(quadrant & 1, ($I)(0)), sine, cosine);
    return frombits_$T(bits_$T(y) ^ ((quadrant & 2) << 62));
}

//: sinfar : FLOAT : one
INLINE $T sinfar_$T($T y, $T x, $B far) { return far ? ($T)sinexact_f64x1(x) : y; }

//: sinfar : FLOAT : many
INLINE $T sinfar_$T($T y, $T x, $B far) {
    if (any_$B(far))
        for (int i = 0; i < $L; i++)
            if (far[i]) y[i] = ($E)sinexact_f64x1(x[i]);
    return y;
}

// Payne and Hanek (1983): x / pi modulo 2 from the 192 bits of 1/pi that matter. |x| >= 1.
//: sinexact : f64 : one
static __attribute__((noinline)) f64x1 sinexact_f64x1(f64x1 x) {
    typedef unsigned long long word;
    typedef unsigned __int128 pair;
    static const word inverse_pi[] = {
        0,
        0x517cc1b727220a94, 0xfe13abe8fa9a6ee0, 0x6db14acc9e21c820, 0xff28b1d5ef5de2b0,
        0xdb92371d2126e970, 0x0324977504e8c90e, 0x7f0ef58e5894d39f, 0x74411afa975da242,
        0x74ce38135a2fbf20, 0x9cc8eb1cc1a99cfa, 0x4e422fc5defc941d, 0x8ffc4bffef02cc07,
        0xf79788c5ad05368f, 0xb69b3f6793e584db, 0xa7a31fb34f2ff516, 0xba93dd63f5f2f8bd,
        0x9e839cfbc5294975, 0x35fdafd88fc6ae84, 0x2b0198237e3db5d5, 0xf867de104d7a1b0e,
    };
    word u = (word)bits_f64x1(x), exponent = (u >> 52) & 0x7ff;
    if (exponent == 0x7ff) return x - x;
    word m = (u & 0xfffffffffffffull) | 1ull << 52;
    word offset = exponent - 1075 + 63;
    const word *at = inverse_pi + offset / 64;
    word up = offset % 64, w[3];
    for (int i = 0; i < 3; i++) w[i] = up ? at[i] << up | at[i + 1] >> (64 - up) : at[i];
    pair low = (pair)m * w[2], middle = (pair)m * w[1] + (low >> 64);
    word p0 = m * w[0] + (word)(middle >> 64), p1 = (word)middle, p2 = (word)low;
    word quadrant = p0 >> 62, minus = (p0 >> 61) & 1;
    p0 = p0 << 2 | p1 >> 62, p1 = p1 << 2 | p2 >> 62;
    if (minus) p0 = ~p0, p1 = ~p1, quadrant++;  // r < 0; one unit of 2^-128 off
    word zeros = p0 ? (word)__builtin_clzll(p0) : 64 + (word)__builtin_clzll(p1 | 1);
    word top = zeros == 0 ? p0 : zeros < 64 ? p0 << zeros | p1 >> (64 - zeros) : p1 << (zeros - 64);
    word r = (word)((pair)top * 0xc90fdaa22168c234ull >> 64);  // pi/2 * 2^63
    f64x1 scale = frombits_f64x1((i64x1)((1023 - 63 - zeros) << 52 | minus << 63));
    f64x1 high = (f64x1)r, rest = (f64x1)(i64x1)(r - (word)high);
    f64x1 y = sinpart_f64x1(high * scale, rest * scale, (i64x1)quadrant);
    return frombits_f64x1(bits_f64x1(y) ^ (i64x1)(u & 1ull << 63));
}
