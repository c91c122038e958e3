// Templates: lanes in registers and in memory. Read numerics.py for the notation.
// A section opens with "//: operations : dtypes : lanes"; the first section that fits is taken.

//: splat : ALL : any
INLINE $T splat_$T($E x) { return ($T)(x); }

//: iota : INT : one
INLINE $T iota_$T(void) { return 0; }

//: iota : INT : many
INLINE $T iota_$T(void) { return ($T){$ALL}; }

//: lo : ALL : two
INLINE $H lo_$T($T v) { return v[0]; }

//: hi : ALL : two
INLINE $H hi_$T($T v) { return v[1]; }

//: cat : ALL : two
INLINE $T cat_$T($H low, $H high) { return ($T){low, high}; }

//: lo : ALL : many
INLINE $H lo_$T($T v) { return __builtin_shufflevector(v, v, $LOW); }

//: hi : ALL : many
INLINE $H hi_$T($T v) { return __builtin_shufflevector(v, v, $HIGH); }

//: cat : ALL : many
INLINE $T cat_$T($H low, $H high) { return __builtin_shufflevector(low, high, $ALL); }

//: zip_lower : ALL : many
INLINE $T zip_lower_$T($T a, $T b) { return __builtin_shufflevector(a, b, $LOWER); }

//: zip_upper : ALL : many
INLINE $T zip_upper_$T($T a, $T b) { return __builtin_shufflevector(a, b, $UPPER); }

// 128 bits of one vector and the other in turns, of their lower or upper half.
//: fours_lower : i32 : 16
INLINE $T fours_lower_$T($T a, $T b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
}

//: fours_upper : i32 : 16
INLINE $T fours_upper_$T($T a, $T b) {
    return __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
}

//: bits : ALL : one
INLINE $I bits_$T($T v) { union { $T value; $I bits; } u = {v}; return u.bits; }

//: bits : ALL : many
INLINE $I bits_$T($T v) { return ($I)v; }

//: frombits : ALL : one
INLINE $T frombits_$T($I v) { union { $I bits; $T value; } u = {v}; return u.value; }

//: frombits : ALL : many
INLINE $T frombits_$T($I v) { return ($T)v; }

//: reverse : ALL : many
INLINE $T reverse_$T($T v) {
    $T r;
    for (int i = 0; i < $L; i++) r[i] = v[$L - 1 - i];
    return r;
}

// ---- memory -------------------------------------------------------------------------------

//: load : bool : any
INLINE $T load_$T(const void *p) { return cast_u8_$T(load_u8x$L(p)); }

//: store : bool : any
INLINE void store_$T(void *p, $T v) { store_u8x$L(p, cast_bool_u8x$L(v)); }

//: load_part : bool : any
INLINE $T load_part_$T(const void *p, i64x1 n) { return cast_u8_$T(load_part_u8x$L(p, n)); }

//: load_masked : bool : many
INLINE $T load_masked_$T(const void *p, $B lanes, i64x1 n) {
    return cast_u8_$T(load_masked_u8x$L(p, lanes, n));
}

//: store_part : bool : any
INLINE void store_part_$T(void *p, $T v, i64x1 n) { store_part_u8x$L(p, cast_bool_u8x$L(v), n); }

//: gather : bool : many
INLINE $T gather_$T(const void *base, i64x$L index, $B lanes, i64x1 n) {
    return cast_u8_$T(gather_u8x$L(base, index, lanes, n));
}

//: store_pairs_part : bool : many
INLINE void store_pairs_part_$T(void *p, $T a, $T b, i64x1 n) {
    store_pairs_part_u8x$L(p, cast_bool_u8x$L(a), cast_bool_u8x$L(b), n);
}

//: store_pairs : bool : many
INLINE void store_pairs_$T(void *p, $T a, $T b) {
    store_pairs_u8x$L(p, cast_bool_u8x$L(a), cast_bool_u8x$L(b));
}

//: store_fours : bool : many
INLINE void store_fours_$T(void *p, $T a, $T b, $T c, $T d, i64x1 step) {
    store_fours_u8x$L(p, cast_bool_u8x$L(a), cast_bool_u8x$L(b), cast_bool_u8x$L(c),
                      cast_bool_u8x$L(d), step);
}

//: load_even : bool : many
INLINE $T load_even_$T(const void *p, i64x1 step) { return cast_u8_$T(load_even_u8x$L(p, step)); }

//: load_even_masked : bool : many
INLINE $T load_even_masked_$T(const void *p, i64x1 step, $B lanes, i64x1 n) {
    return cast_u8_$T(load_even_masked_u8x$L(p, step, lanes, n));
}

//: load : ALL : any
INLINE $T load_$T(const void *p) {
    typedef $T unaligned __attribute__((aligned(1), may_alias));
    return *(const unaligned *)p;
}

// 40 lines ahead: further than one loop needs to hide memory, nearer than it could be lost again.
//: load_ahead : ALL : any
INLINE $T load_ahead_$T(const void *p) {
    __builtin_prefetch((const char *)p + 2560);
    return load_$T(p);
}

//: store : ALL : any
INLINE void store_$T(void *p, $T v) {
    typedef $T unaligned __attribute__((aligned(1), may_alias));
    *(unaligned *)p = v;
}

//: store_pairs : ALL : many
INLINE void store_pairs_$T(void *p, $T a, $T b) {
    typedef $E both __attribute__((ext_vector_type(2 * $L)));
    typedef both unaligned __attribute__((aligned(1), may_alias));
    *(unaligned *)p = __builtin_shufflevector(a, b, $PAIRS);
}

//: store_pairs_part : ALL : many
INLINE void store_pairs_part_$T(void *p, $T a, $T b, i64x1 n) {
    $T low = a, high = b;
#pragma clang loop unroll(full)
    for (int i = 0; i < $L / 2; i++) {
        low[2 * i] = a[i], low[2 * i + 1] = b[i];
        high[2 * i] = a[i + $L / 2], high[2 * i + 1] = b[i + $L / 2];
    }
    store_part_$T(p, low, 2 * n < $L ? 2 * n : $L);
    store_part_$T((char *)p + sizeof(low), high, 2 * n > $L ? 2 * n - $L : 0);
}

// Pairs of lanes are put together first: 1 shuffle for each 2 elements, not one for each.
//: store_fours : ALL : many
INLINE void store_fours_$T(void *p, $T a, $T b, $T c, $T d, i64x1 step) {
    typedef unsigned _BitInt(2 * $BITS) pair;
    typedef pair pairs __attribute__((ext_vector_type($L)));
    typedef struct __attribute__((packed, may_alias)) { pair first, second; } four;
    const pairs low = (pairs)__builtin_shufflevector(a, b, $PAIRS);
    const pairs high = (pairs)__builtin_shufflevector(c, d, $PAIRS);
#pragma clang loop unroll(full)
    for (int i = 0; i < $L; i++)
        *(four *)((char *)p + i * step * sizeof($E)) = (four){low[i], high[i]};
}

//: load_part : ALL : one
INLINE $T load_part_$T(const void *p, i64x1 n) { return n > 0 ? load_$T(p) : ($T)0; }

//: load_masked : ALL : many
INLINE $T load_masked_$T(const void *p, $B lanes, i64x1 n) {
    typedef $E element __attribute__((aligned(1), may_alias));
#if MASKED_$BITS
    __asm__("" : "+r"(n));
    typedef _Bool mask __attribute__((ext_vector_type($L)));
    return __builtin_masked_load(__builtin_convertvector(iota_$I() < ($I)n, mask) &
                                     __builtin_convertvector(lanes, mask),
                                 (const element *)p, ($T)(0));
#else
    $T v = ($T)(0);
    for (int i = 0; i < n; i++) if (lanes[i]) v[i] = ((const element *)p)[i];
    return v;
#endif
}

//: store_part : ALL : one
INLINE void store_part_$T(void *p, $T v, i64x1 n) {
    if (n > 0) store_$T(p, v);
}

// Without a masked instruction: lane by lane, neither unrolled nor vectorised, as it runs once a row.
//: load_part : ALL : many
INLINE $T load_part_$T(const void *p, i64x1 n) {
    typedef $E element __attribute__((aligned(1), may_alias));
#if MASKED_$BITS
    typedef _Bool mask __attribute__((ext_vector_type($L)));
    return __builtin_masked_load(__builtin_convertvector(iota_$I() < ($I)n, mask),
                                 (const element *)p, ($T)(0));
#else
    union { $T v; $E lane[$L]; } u;
    u.v = ($T)(0);
#pragma clang loop vectorize(disable) unroll(disable)
    for (i64x1 i = 0; i < n; i++) u.lane[i] = ((const element *)p)[i];
    return u.v;
#endif
}

// The count is hidden from the optimiser: Clang 22 turns a masked store of one narrowed lane into a
// scalar store of the wide lane, which writes past it.
//: store_part : ALL : many
INLINE void store_part_$T(void *p, $T v, i64x1 n) {
    typedef $E element __attribute__((aligned(1), may_alias));
#if MASKED_$BITS
    __asm__("" : "+r"(n));
    typedef _Bool mask __attribute__((ext_vector_type($L)));
    __builtin_masked_store(__builtin_convertvector(iota_$I() < ($I)n, mask), v, (element *)p);
#else
    union { $T v; $E lane[$L]; } u;
    u.v = v;
#pragma clang loop vectorize(disable) unroll(disable)
    for (i64x1 i = 0; i < n; i++) ((element *)p)[i] = u.lane[i];
#endif
}

// Only lanes below n where the mask is set are read.
//: gather : ALL : many
INLINE $T gather_$T(const void *base, i64x$L index, $B lanes, i64x1 n) {
    typedef $E element __attribute__((aligned(1), may_alias));
#if GATHERED_$BITS
    typedef _Bool mask __attribute__((ext_vector_type($L)));
    __asm__("" : "+r"(n));
    return __builtin_masked_gather(__builtin_convertvector(iota_i32x$L() < (i32x$L)(int)n, mask) &
                                       __builtin_convertvector(lanes, mask),
                                   index, (const element *)base, ($T)(0));
#else
    $T v = ($T)(0);
    for (int i = 0; i < $L; i++) if (i < n && lanes[i]) v[i] = ((const element *)base)[index[i]];
    return v;
#endif
}

// Lane i is element i*step. Two vectors hold every second one, and end with the last.
//: load_even : ALL : many
INLINE $T load_even_$T(const void *p, i64x1 step) {
    typedef $E element __attribute__((aligned(1), may_alias));
    const element *at = p;
    if (__builtin_constant_p(step) && step == -1) return reverse_$T(load_$T(at - ($L - 1)));
    if (__builtin_constant_p(step) && step == 2) {
        $T a = load_$T(at), b = load_$T(at + ($L - 1)), v;
        for (int i = 0; i < $L / 2; i++) {
            v[i] = a[2 * i];
            v[i + $L / 2] = b[2 * i + 1];
        }
        return v;
    }
    return gather_$T(p, iota_i64x$L() * step, splat_$B(-1), $L);
}

//: load_even_masked : ALL : many
INLINE $T load_even_masked_$T(const void *p, i64x1 step, $B lanes, i64x1 n) {
    typedef $E element __attribute__((aligned(1), may_alias));
    const element *at = p;
    if (__builtin_constant_p(step) && step == -1) {
        const $B held = reverse_$B(lanes & (iota_i32x$L() < (i32x$L)(int)n));
        return reverse_$T(load_masked_$T(at - ($L - 1), held, $L));
    }
#if MASKED_$BITS
    if (__builtin_constant_p(step) && step == 2) {
        const $B held = lanes & (iota_i32x$L() < (i32x$L)(int)n);
        $B low = ($B)(0), high = ($B)(0);
        for (int i = 0; i < $L / 2; i++) {
            low[2 * i] = held[i];
            high[2 * i] = held[i + $L / 2];
        }
        $T a = load_masked_$T(at, low, $L), b = load_masked_$T(at + $L, high, $L), v;
        for (int i = 0; i < $L / 2; i++) {
            v[i] = a[2 * i];
            v[i + $L / 2] = b[2 * i];
        }
        return v;
    }
#endif
    return gather_$T(p, iota_i64x$L() * step, lanes, n);
}

// ---- comparison, masks, choice ------------------------------------------------------------

//: lt : bool : any
INLINE $B lt_$T($T a, $T b) { return ~a & b; }

//: le : bool : any
INLINE $B le_$T($T a, $T b) { return ~a | b; }

//: eq : bool : any
INLINE $B eq_$T($T a, $T b) { return ~(a ^ b); }

//: lt : NUMBER : one
INLINE $B lt_$T($T a, $T b) { return -(a < b); }

//: le : NUMBER : one
INLINE $B le_$T($T a, $T b) { return -(a <= b); }

//: eq : NUMBER : one
INLINE $B eq_$T($T a, $T b) { return -(a == b); }

//: lt : NUMBER : many
INLINE $B lt_$T($T a, $T b) { return __builtin_convertvector(a < b, $B); }

//: le : NUMBER : many
INLINE $B le_$T($T a, $T b) { return __builtin_convertvector(a <= b, $B); }

//: eq : NUMBER : many
INLINE $B eq_$T($T a, $T b) { return __builtin_convertvector(a == b, $B); }

//: and : bool : any
INLINE $T and_$T($T a, $T b) { return a & b; }

//: or : bool : any
INLINE $T or_$T($T a, $T b) { return a | b; }

//: not : bool : any
INLINE $T not_$T($T a) { return ~a; }

//: any : bool : one
INLINE boolx1 any_$T($T a) { return a; }

//: any : bool : many
INLINE boolx1 any_$T($T a) { return __builtin_reduce_or(a); }

//: sel : ALL : one
INLINE $T sel_$T($B c, $T a, $T b) { return c ? a : b; }

//: sel : ALL : many
INLINE $T sel_$T($B c, $T a, $T b) { return __builtin_convertvector(c, $I) ? a : b; }

// ---- arithmetic: a cast back to the type wraps integers narrower than int -------------------

//: add : bool : any
INLINE $T add_$T($T a, $T b) { return a | b; }

//: mul : bool : any
INLINE $T mul_$T($T a, $T b) { return a & b; }

//: fma : bool : any
INLINE $T fma_$T($T a, $T b, $T c) { return (a & b) | c; }

//: max : bool : any
INLINE $T max_$T($T a, $T b) { return a | b; }

//: mod : bool : any
INLINE $T mod_$T($T a, $T b) { return ($T)(0); }

//: add : NUMBER : any
INLINE $T add_$T($T a, $T b) { return ($T)(a + b); }

//: mul : NUMBER : any
INLINE $T mul_$T($T a, $T b) { return ($T)(a * b); }

//: fma : INT : any
INLINE $T fma_$T($T a, $T b, $T c) { return ($T)(a * b + c); }

//: fma : FLOAT : any
INLINE $T fma_$T($T a, $T b, $T c) {
#if HAS_FMA
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

//: max : INT : any
INLINE $T max_$T($T a, $T b) { return __builtin_elementwise_max(a, b); }

// maxps gives its second operand where either is NaN: only a NaN in a needs mending.
//: max : FLOAT : any
INLINE $T max_$T($T a, $T b) {
#if defined(__aarch64__) && __has_builtin(__builtin_elementwise_maximum)
    return __builtin_elementwise_maximum(a, b);
#else
    return sel_$T(eq_$T(a, a), sel_$T(lt_$T(b, a), a, b), a);
#endif
}

// ---- horizontal: halves are combined until one lane is left ---------------------------------

//: hsum hmax : NUMBER bool : one
INLINE $E $O_$T($T v) { return v; }

//: hsum : NUMBER bool : many
INLINE $E hsum_$T($T v) { return hsum_$H(add_$H(lo_$T(v), hi_$T(v))); }

//: hmax : NUMBER bool : many
INLINE $E hmax_$T($T v) { return hmax_$H(max_$H(lo_$T(v), hi_$T(v))); }

// ---- floored modulo -------------------------------------------------------------------------
// The divisors 0 and -1 give 0, and neither may reach the instruction: both can trap.

//: mod : u8 : one
INLINE $T mod_$T($T a, $T b) { return b ? a % b : 0; }

//: mod : u8 : many
INLINE $T mod_$T($T a, $T b) { return a % (b == 0 ? ($T)(1) : b); }

//: mod : INT : one
INLINE $T mod_$T($T a, $T b) {
    $T divisor = b == 0 || b == -1 ? 1 : b;
    $T r = ($T)(a % divisor);
    return r != 0 && (r ^ divisor) < 0 ? ($T)(r + divisor) : r;
}

//: mod : INT : many
INLINE $T mod_$T($T a, $T b) {
    $T divisor = ((b == 0) | (b == -1)) ? ($T)(1) : b;
    $T r = a % divisor;
    return ((r != 0) & ((r ^ divisor) < 0)) ? r + divisor : r;
}

// The quotient fits 29 bits, so that its product with a 24-bit divisor is exact in float64.
//: mod : f32 : any
INLINE $T mod_$T($T a, $T b) {
    f64x$L wide_a = cast_f32_f64x$L(a), wide_b = cast_f32_f64x$L(b);
    f64x$L ratio = wide_a / wide_b;
    boolx$L near = lt_f64x$L(abs_f64x$L(ratio), (f64x$L)(0x1p29)) &
                   lt_$T(abs_$T(b), ($T)(__builtin_inff()));
    ratio = sel_f64x$L(near, ratio, (f64x$L)(0));
    f64x$L whole = cast_i32_f64x$L(trunc_f64_i32x$L(ratio));
    $T r = cast_f64_$T(wide_a - whole * wide_b);
    return floored_$T(fmodfar_$T(r, a, b, ~near), b);
}

// The quotient may be one too large in magnitude: then the remainder has not a's sign.
//: mod : f64 : any
INLINE $T mod_$T($T a, $T b) {
#if HAS_FMA
    $T ratio = a / b;
    $B near = lt_$T(abs_$T(ratio), ($T)(0x1p52)) & lt_$T(abs_$T(b), ($T)(__builtin_inf()));
    $T r = fma_$T(-__builtin_elementwise_trunc(ratio), b, a);
    $B over = (lt_$T(r, ($T)(0)) & lt_$T(($T)(0), a)) | (lt_$T(($T)(0), r) & lt_$T(a, ($T)(0)));
    r = sel_$T(over, r + copysign_$T(b, a), r);
    return floored_$T(fmodfar_$T(r, a, b, ~near), b);
#else
    return floored_$T(fmodfar_$T(a, a, b, ~($B)(0)), b);
#endif
}

// NumPy's last step: the sign of the divisor, zeros too.
//: floored : FLOAT : any
INLINE $T floored_$T($T r, $T b) {
    $B mixed = lt_$T(r, ($T)(0)) ^ lt_$T(b, ($T)(0));
    return sel_$T(eq_$T(r, ($T)(0)), copysign_$T(r, b), sel_$T(mixed, r + b, r));
}

//: fmodfar : FLOAT : one
INLINE $T fmodfar_$T($T r, $T a, $T b, $B far) { return far ? ($T)fmod_f64x1(a, b) : r; }

//: fmodfar : FLOAT : many
INLINE $T fmodfar_$T($T r, $T a, $T b, $B far) {
    if (any_$B(far))
        for (int i = 0; i < $L; i++)
            if (far[i]) r[i] = ($E)fmod_f64x1(a[i], b[i]);
    return r;
}

// Exact for every pair; float32 operands give the float32 remainder.
//: fmod : f64 : one
static __attribute__((noinline)) f64x1 fmod_f64x1(f64x1 x, f64x1 y) {
    typedef unsigned long long word;
    const word sign = 1ull << 63, infinite = 0x7ffull << 52, hidden = 1ull << 52;
    word bx = (word)bits_f64x1(x) & ~sign, by = (word)bits_f64x1(y) & ~sign;
    if (bx >= infinite || by > infinite || by == 0) return __builtin_nan("");
    if (bx < by) return x;
    word ex = bx >> 52, ey = by >> 52;
    word mx = ex ? (bx & (hidden - 1)) | hidden : bx, my = ey ? (by & (hidden - 1)) | hidden : by;
    ex += ex == 0, ey += ey == 0;
    word r = mx % my;
    for (word left = ex - ey; left > 0 && r;) {
        word step = left < 11 ? left : 11;  // 53 + 11 bits fill a word
        r = (r << step) % my, left -= step;
    }
    if (r == 0) return frombits_f64x1(bits_f64x1(x) & (i64x1)sign);
    word shift = (word)__builtin_clzll(r) - 11;
    if (shift > ey - 1) shift = ey - 1;
    r = (r << shift) + ((ey - shift - 1) << 52);
    return frombits_f64x1((i64x1)(r | ((word)bits_f64x1(x) & sign)));
}
