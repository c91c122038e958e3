// Templates: what the c target's templates say in a way that is not CUDA C++ (lanes.h). Notation and
// promises: photic/targets/c/numerics.py. Every load and store is of elements at their alignment.

//: iota : INT : many
INLINE $T iota_$T(void) { return numbered<$E, $L>(); }

//: lo : ALL : two
INLINE $H lo_$T($T v) { return v.at[0]; }

//: hi : ALL : two
INLINE $H hi_$T($T v) { return v.at[1]; }

//: cat : ALL : two
INLINE $T cat_$T($H low, $H high) {
    $T r;
    r.at[0] = low, r.at[1] = high;
    return r;
}

//: lo : ALL : many
INLINE $H lo_$T($T v) { return half_from<0>(v); }

//: hi : ALL : many
INLINE $H hi_$T($T v) { return half_from<$L / 2>(v); }

//: cat : ALL : many
INLINE $T cat_$T($H low, $H high) { return joined(low, high); }

//: bits : ALL : many
INLINE $I bits_$T($T v) { return lane_bits<$I>(v); }

//: frombits : ALL : many
INLINE $T frombits_$T($I v) { return lane_bits<$T>(v); }

//: any : bool : many
INLINE boolx1 any_$T($T a) { return any_$H(lo_$T(a) | hi_$T(a)); }

//: sel : ALL : many
INLINE $T sel_$T($B c, $T a, $T b) { return chosen(c, a, b); }

// ---- memory: bools are the c target's, by way of bytes ----------------------------------------

//: load : NUMBER f16 bf16 : one
INLINE $T load_$T(const void *p) { return *(const $E *)p; }

//: load_ahead : ALL : many
INLINE $T load_ahead_$T(const void *p) { return load_$T(p); }

//: store : NUMBER f16 bf16 : one
INLINE void store_$T(void *p, $T v) { *($E *)p = v; }

//: load : NUMBER f16 bf16 : many
INLINE $T load_$T(const void *p) {
    $T v;
#pragma unroll
    for (int i = 0; i < $L; i++) v.at[i] = ((const $E *)p)[i];
    return v;
}

//: store : NUMBER f16 bf16 : many
INLINE void store_$T(void *p, $T v) {
#pragma unroll
    for (int i = 0; i < $L; i++) (($E *)p)[i] = v.at[i];
}

//: load_part : NUMBER f16 bf16 : many
INLINE $T load_part_$T(const void *p, i64x1 n) {
    $T v = ($T)(0);
#pragma unroll
    for (int i = 0; i < $L; i++) if (i < n) v.at[i] = ((const $E *)p)[i];
    return v;
}

//: load_masked : NUMBER f16 bf16 : many
INLINE $T load_masked_$T(const void *p, $B lanes, i64x1 n) {
    return gather_$T(p, iota_i64x$L(), lanes, n);
}

//: store_part : NUMBER f16 bf16 : many
INLINE void store_part_$T(void *p, $T v, i64x1 n) {
#pragma unroll
    for (int i = 0; i < $L; i++) if (i < n) (($E *)p)[i] = v.at[i];
}

//: gather : NUMBER f16 bf16 : many
INLINE $T gather_$T(const void *base, i64x$L index, $B lanes, i64x1 n) {
    $T v = ($T)(0);
#pragma unroll
    for (int i = 0; i < $L; i++)
        if (i < n && lanes.at[i]) v.at[i] = ((const $E *)base)[index.at[i]];
    return v;
}

//: store_pairs : NUMBER f16 bf16 : many
INLINE void store_pairs_$T(void *p, $T a, $T b) {
#pragma unroll
    for (int i = 0; i < $L; i++) {
        (($E *)p)[2 * i] = a.at[i];
        (($E *)p)[2 * i + 1] = b.at[i];
    }
}

//: store_fours : NUMBER f16 bf16 : many
INLINE void store_fours_$T(void *p, $T a, $T b, $T c, $T d, i64x1 step) {
#pragma unroll
    for (int i = 0; i < $L; i++) {
        $E *to = ($E *)p + i * step;
        to[0] = a.at[i];
        to[1] = b.at[i];
        to[2] = c.at[i];
        to[3] = d.at[i];
    }
}

//: load_even : NUMBER f16 bf16 : many
INLINE $T load_even_$T(const void *p, i64x1 step) {
    $T v;
#pragma unroll
    for (int i = 0; i < $L; i++) v.at[i] = ((const $E *)p)[i * step];
    return v;
}

//: load_even_masked : NUMBER f16 bf16 : many
INLINE $T load_even_masked_$T(const void *p, i64x1 step, $B lanes, i64x1 n) {
    return gather_$T(p, iota_i64x$L() * step, lanes, n);
}

// ---- integers: signed overflow wraps only in lanes and in unsigned numbers --------------------

//: add : INT : one
INLINE $T add_$T($T a, $T b) { return ($T)((wide<$T>)a + (wide<$T>)b); }

//: mul : INT : one
INLINE $T mul_$T($T a, $T b) { return ($T)((wide<$T>)a * (wide<$T>)b); }

//: fma : INT : one
INLINE $T fma_$T($T a, $T b, $T c) { return add_$T(mul_$T(a, b), c); }

//: mod : u8 : many
INLINE $T mod_$T($T a, $T b) { return a % chosen(eq_$T(b, ($T)(0)), ($T)(1), b); }

//: mod : INT : many
INLINE $T mod_$T($T a, $T b) {
    $T divisor = chosen(eq_$T(b, ($T)(0)) | eq_$T(b, ($T)(-1)), ($T)(1), b);
    $T r = a % divisor;
    return chosen(~eq_$T(r, ($T)(0)) & lt_$T(r ^ divisor, ($T)(0)), r + divisor, r);
}

// ---- half types: an instruction each -----------------------------------------------------------

//: cast_f32 : f16 : one
INLINE $T cast_f32_$T($F v) { return half_of(v); }

//: cast_f32 : f16 : many
INLINE $T cast_f32_$T($F v) {
    $T r;
#pragma unroll
    for (int i = 0; i < $L; i++) r.at[i] = half_of(v.at[i]);
    return r;
}

//: cast_f16 : f32 : one
INLINE $T cast_f16_$T($F v) { return single_of(v); }

//: cast_f16 : f32 : many
INLINE $T cast_f16_$T($F v) {
    $T r;
#pragma unroll
    for (int i = 0; i < $L; i++) r.at[i] = single_of(v.at[i]);
    return r;
}
