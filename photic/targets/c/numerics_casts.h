// Templates: casts. cast_A_BxL takes lanes of A to lanes of B; pairs that are not here go
// through a dtype that holds every value of the first (numerics.py, CAST_THROUGH).

// ---- to and from bool -----------------------------------------------------------------------

//: cast_NUMBER : bool : any
INLINE $T cast_$FD_$T($F v) { return ~eq_$F(v, ($F)(0)); }

//: cast_f16 cast_bf16 : bool : one
INLINE $T cast_$FD_$T($F v) { return -((v & 0x7fff) != 0); }

//: cast_f16 cast_bf16 : bool : many
INLINE $T cast_$FD_$T($F v) { return __builtin_convertvector((v & 0x7fff) != 0, $T); }

//: cast_bool : f16 : any
INLINE $T cast_bool_$T($F v) { return sel_$T(v, ($T)(0x3c00), ($T)(0)); }

//: cast_bool : bf16 : any
INLINE $T cast_bool_$T($F v) { return sel_$T(v, ($T)(0x3f80), ($T)(0)); }

//: cast_bool : FLOAT : any
INLINE $T cast_bool_$T($F v) { return sel_$T(v, ($T)(1), ($T)(0)); }

//: cast_bool : INT : one
INLINE $T cast_bool_$T($F v) { return ($T)(v & 1); }

//: cast_bool : INT : many
INLINE $T cast_bool_$T($F v) { return __builtin_convertvector(v, $T) & 1; }

// ---- integers wrap; integer to float rounds once ----------------------------------------------

//: cast_INT : NUMBER : one
INLINE $T cast_$FD_$T($F v) { return ($T)v; }

//: cast_INT : NUMBER : many
INLINE $T cast_$FD_$T($F v) { return __builtin_convertvector(v, $T); }

//: cast_FLOAT : FLOAT : one
INLINE $T cast_$FD_$T($F v) { return ($T)v; }

//: cast_FLOAT : FLOAT : many
INLINE $T cast_$FD_$T($F v) { return __builtin_convertvector(v, $T); }

// ---- float to integer truncates, saturates, NaN gives 0 ----------------------------------------

//: trunc_FLOAT : INT : one
INLINE $T trunc_$FD_$T($F v) { return ($T)v; }

//: trunc_FLOAT : INT : many
INLINE $T trunc_$FD_$T($F v) { return __builtin_convertvector(v, $T); }

// The bounds are floats, and the least is where NaN goes too.
//: cast_FLOAT : u8 : many
INLINE $T cast_$FD_$T($F v) {
    $F above = sel_$F(lt_$F(($F)(0), v), v, ($F)(0));
    return trunc_$FD_$T(sel_$F(lt_$F(above, ($F)(255)), above, ($F)(255)));
}

//: cast_FLOAT : INT : any
INLINE $T cast_$FD_$T($F v) {
    $B high = le_$F(($F)($CAP), v);
    $F inside = sel_$F(lt_$F(v, ($F)($MIN)), ($F)($MIN), v);
    inside = sel_$F(eq_$F(v, v) & ~high, inside, ($F)(0));
    return sel_$T(high, ($T)($MAX), trunc_$FD_$T(inside));
}

// ---- half types ---------------------------------------------------------------------------------

//: cast_f32 : f16 : one
INLINE $T cast_f32_$T($F v) {
#if HAS_HALF
    union { _Float16 value; $T bits; } u = {(_Float16)v};
    return u.bits;
#else
    return halfbits_$T(bits_$F(v));
#endif
}

//: cast_f32 : f16 : many
INLINE $T cast_f32_$T($F v) {
#if HAS_HALF
    typedef _Float16 half __attribute__((ext_vector_type($L)));
    return ($T)__builtin_convertvector(v, half);
#else
    return halfbits_$T(bits_$F(v));
#endif
}

// Normal results: add half a unit and the odd bit, drop 13 bits. Subnormal ones: adding 0.5
// lets the float adder round at 2^-24.
//: halfbits : f16 : any
INLINE $T halfbits_$T(i32x$L u) {
    i32x$L sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    i32x$L normal = (a - (112 << 23) + 0xfff + ((a >> 13) & 1)) >> 13;
    f32x$L shifted = frombits_f32x$L(a) + 0.5f;
    i32x$L small = bits_f32x$L(shifted) - (126 << 23);
    i32x$L special = sel_i32x$L(lt_i32x$L((i32x$L)(255 << 23), a), (i32x$L)(0x7e00),
                                (i32x$L)(0x7c00));
    i32x$L r = sel_i32x$L(lt_i32x$L(a, (i32x$L)(113 << 23)), small, normal);
    r = sel_i32x$L(lt_i32x$L(a, (i32x$L)(143 << 23)), r, special) | sign;
    return narrow_i32_$T(r);
}

//: narrow_i32 : f16 bf16 : one
INLINE $T narrow_i32_$T($F v) { return ($T)v; }

//: narrow_i32 : f16 bf16 : many
INLINE $T narrow_i32_$T($F v) { return __builtin_convertvector(v, $T); }

//: widen_f16 widen_bf16 : i32 : one
INLINE $T widen_$FD_$T($F v) { return ($T)v; }

//: widen_f16 widen_bf16 : i32 : many
INLINE $T widen_$FD_$T($F v) { return __builtin_convertvector(v, $T); }

//: cast_f16 : f32 : one
INLINE $T cast_f16_$T($F v) {
#if HAS_HALF
    union { $F bits; _Float16 value; } u = {v};
    return ($T)u.value;
#else
    return wholebits_$T(widen_f16_i32x$L(v));
#endif
}

//: cast_f16 : f32 : many
INLINE $T cast_f16_$T($F v) {
#if HAS_HALF
    typedef _Float16 half __attribute__((ext_vector_type($L)));
    return __builtin_convertvector((half)v, $T);
#else
    return wholebits_$T(widen_f16_i32x$L(v));
#endif
}

//: wholebits : f32 : any
INLINE $T wholebits_$T(i32x$L h) {
    i32x$L sign = (h & 0x8000) << 16, a = (h & 0x7fff) << 13;
    i32x$L special = a + (224 << 23), normal = a + (112 << 23);
    f32x$L small = frombits_f32x$L(a + (113 << 23)) - 0x1p-14f;
    i32x$L r = sel_i32x$L(lt_i32x$L(a, (i32x$L)(0x400 << 13)), bits_f32x$L(small), normal);
    r = sel_i32x$L(lt_i32x$L(a, (i32x$L)(0x7c00 << 13)), r, special);
    return frombits_$T(r | sign);
}

//: cast_bf16 : f32 : any
INLINE $T cast_bf16_$T($F v) { return frombits_$T(widen_bf16_i32x$L(v) << 16); }

// In integers where a lane is subnormal: AVX512-BF16's own instruction makes it 0.
//: cast_f32 : bf16 : any
INLINE $T cast_f32_$T($F v) {
    i32x$L u = bits_$F(v);
#if $L == 16 && defined(__AVX512BF16__)
    i32x$L subnormal = ((u & 0x7f800000) == 0) & ((u & 0x007fffff) != 0);
    typedef __bf16 half __attribute__((vector_size(32)));
    if (!__builtin_reduce_or(subnormal))
        return ($T)__builtin_ia32_cvtneps2bf16_512_mask(v, (half){0}, -1);
#endif
    i32x$L rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return narrow_i32_$T(sel_i32x$L(eq_$F(v, v), rounded, (u >> 16) | 0x40));
}

// For those who take a subnormal number for 0.
//: flush_f32 : bf16 : any
INLINE $T flush_f32_$T($F v) {
#if $L == 16 && defined(__AVX512BF16__)
    typedef __bf16 half __attribute__((vector_size(32)));
    return ($T)__builtin_ia32_cvtneps2bf16_512_mask(v, (half){0}, -1);
#else
    return cast_f32_$T(v);
#endif
}

// Rounding to odd at 24 bits first makes the second rounding right (Boldo and Melquiond 2008).
//: odd_f64 : f32 : any
INLINE $T odd_f64_$T($F v) {
    $T near = cast_f64_$T(v);
    $F back = cast_f32_$F(near);
    i32x$L u = bits_$T(near);
    u += lt_$F(abs_$F(v), abs_$F(back));
    return frombits_$T(sel_i32x$L(eq_$F(back, v) | ~eq_$F(v, v), u, u | 1));
}

//: cast_f64 : f16 bf16 : any
INLINE $T cast_f64_$T($F v) { return cast_f32_$T(odd_f64_f32x$L(v)); }

// float64 holds 53 bits: the 11 low bits of large integers become one sticky bit.
//: cast_i64 : bf16 : any
INLINE $T cast_i64_$T($F v) {
    $F sticky = (v & ~0x7ffll) | sel_$F(eq_$F(v & 0x7ffll, ($F)(0)), ($F)(0), ($F)(0x400));
    $B exact = lt_$F(($F)(-(1ll << 53)), v) & lt_$F(v, ($F)(1ll << 53));
    return cast_f64_$T(cast_i64_f64x$L(sel_$F(exact, v, sticky)));
}
