/* What the processor can do at most: loops of one instruction, and passes over memory.

   Compiled by photic's own toolchain for this processor; an instruction that it lacks has no function
   here. Each `rate_` function runs `rounds` rounds of COUNT independent operations and leaves a value
   in `memory`, so that nothing is dropped; each pass function goes over `bytes` bytes, a multiple of
   its step, so many times. Nothing here starts threads or checks its arguments. */

typedef long long int64_t;

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define LANES (VECTOR_BYTES / 4)
#define COUNT 12 /* two units, latency 4 to 6: as many must be under way */
#define KEEP __asm__ volatile("" ::: "memory")

typedef float floats __attribute__((ext_vector_type(LANES)));
typedef int words __attribute__((ext_vector_type(LANES)));

int64_t lanes(void) { return LANES; }

/* --- arithmetic --------------------------------------------------------------------------- */

void rate_fma(int64_t rounds, char *memory) {
  floats sums[COUNT], x = *(floats *)memory, y = x + 0.25f;
  for (int i = 0; i < COUNT; i++) sums[i] = x * i;
  for (int64_t round = 0; round < rounds; round++)
#pragma clang loop unroll(full)
    for (int i = 0; i < COUNT; i++) sums[i] = __builtin_elementwise_fma(sums[i], x, y);
  for (int i = 1; i < COUNT; i++) sums[0] += sums[i];
  *(floats *)memory = sums[0] * 0 + 0.5f;
}

#if defined(__AVX512F__)
#define DOT(name, instruction)                                                          \
  void name(int64_t rounds, char *memory) {                                             \
    words sums[COUNT], x = *(words *)memory;                                            \
    for (int i = 0; i < COUNT; i++) sums[i] = x & 0;                                    \
    for (int64_t round = 0; round < rounds; round++)                                    \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < COUNT; i++)                \
          __asm__ volatile(instruction " %1, %1, %0" : "+v"(sums[i]) : "v"(x));         \
    for (int i = 1; i < COUNT; i++) sums[0] ^= sums[i];                                 \
    *(words *)(memory + VECTOR_BYTES) = sums[0];                                        \
  }
#if defined(__AVX512VNNI__)
DOT(rate_int8_dot, "vpdpbusd")
#endif
#if defined(__AVX512BF16__)
DOT(rate_bf16_dot, "vdpbf16ps")
#endif
#endif

#if defined(__AMX_TILE__)
#define TILES 8
#define TILE_ROWS 16
typedef struct {
  unsigned char palette, start, reserved[14];
  unsigned short row_bytes[16];
  unsigned char rows[16];
} tile_shapes;

/* Four tiles of sums, each pair of operands used twice: the form of a real product. */
#define TILE(name, instruction)                                                         \
  void name(int64_t rounds, char *memory) {                                             \
    tile_shapes shapes = {.palette = 1};                                                \
    for (int i = 0; i < TILES; i++) shapes.row_bytes[i] = 64, shapes.rows[i] = TILE_ROWS; \
    __asm__ volatile("ldtilecfg %0" : : "m"(shapes));                                   \
    __asm__ volatile("tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n"            \
                     "tilezero %%tmm3\n tilezero %%tmm4\n tilezero %%tmm5\n"            \
                     "tilezero %%tmm6\n tilezero %%tmm7" : :);                          \
    for (int64_t round = 0; round < rounds; round++)                                    \
      __asm__ volatile(instruction " %%tmm6, %%tmm4, %%tmm0\n"                          \
                       instruction " %%tmm7, %%tmm4, %%tmm1\n"                          \
                       instruction " %%tmm6, %%tmm5, %%tmm2\n"                          \
                       instruction " %%tmm7, %%tmm5, %%tmm3" : :);                      \
    __asm__ volatile("tilestored %%tmm0, (%0, %1, 1)" : : "r"(memory), "r"(64ll) : "memory"); \
    __asm__ volatile("tilerelease" : :);                                                \
  }
#if defined(__AMX_BF16__)
TILE(rate_bf16_tile, "tdpbf16ps")
#endif
#if defined(__AMX_INT8__)
TILE(rate_int8_tile, "tdpbusd")
#endif
#endif

/* --- memory ------------------------------------------------------------------------------- */

#define STEP 16 /* vectors of 64 bytes or less: a kilobyte at once */
#define AHEAD 2048

#define READ(name, fetch)                                                               \
  void name(int64_t passes, char *memory, int64_t bytes) {                              \
    words sums[STEP / 2] = {0};                                                         \
    for (int64_t pass = 0; pass < passes; pass++)                                       \
      for (char *at = memory; at < memory + bytes; at += STEP * VECTOR_BYTES) {         \
        _Pragma("clang loop unroll(full)") for (int i = 0; i < STEP; i++) {             \
          fetch;                                                                        \
          sums[i % (STEP / 2)] |= ((words *)at)[i];                                     \
        }                                                                               \
        KEEP;                                                                           \
      }                                                                                 \
    for (int i = 1; i < STEP / 2; i++) sums[0] |= sums[i];                              \
    __asm__ volatile("" : : "v"(sums[0]));                                              \
  }
READ(pass_read, (void)0)
READ(pass_read_ahead, __builtin_prefetch(at + AHEAD + i * VECTOR_BYTES, 0, 3))

#define WRITE(name, store)                                                              \
  void name(int64_t passes, char *memory, int64_t bytes) {                              \
    words value = (words){1, 2, 3, 4};                                                  \
    for (int64_t pass = 0; pass < passes; pass++)                                       \
      for (char *at = memory; at < memory + bytes; at += STEP * VECTOR_BYTES) {         \
        _Pragma("clang loop unroll(full)") for (int i = 0; i < STEP; i++) store;        \
        KEEP;                                                                           \
      }                                                                                 \
  }
WRITE(pass_write, ((words *)at)[i] = value)
WRITE(pass_write_around, __builtin_nontemporal_store(value, (words *)at + i))

/* The first half of `bytes` to the second. */
#define COPY(name, store)                                                               \
  void name(int64_t passes, char *memory, int64_t bytes) {                              \
    char *target = memory + bytes / 2;                                                  \
    for (int64_t pass = 0; pass < passes; pass++)                                       \
      for (int64_t at = 0; at < bytes / 2; at += STEP * VECTOR_BYTES) {                 \
        words *from = (words *)(memory + at), *to = (words *)(target + at);             \
        _Pragma("clang loop unroll(full)") for (int i = 0; i < STEP; i++) store;        \
        KEEP;                                                                           \
      }                                                                                 \
  }
COPY(pass_copy, to[i] = from[i])
COPY(pass_copy_around, __builtin_nontemporal_store(from[i], to + i))
