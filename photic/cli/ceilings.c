/* Loops of one kind of instruction, for photic/cli/ceilings.py, which defines BYTES, the width of
   a vector, and FUSED where a multiply-add is one instruction. No result depends on them. */

typedef float vector __attribute__((vector_size(BYTES)));

#ifdef FUSED
#define STEP(a) a = __builtin_elementwise_fma(a, m, c);
#else
#define STEP(a) a = a * m + c;
#endif

/* rounds times twelve multiply-adds that do not depend on each other */
void arithmetic(long long rounds, vector *memory) {
  vector m = memory[0], c = memory[1];
  vector a0 = memory[2], a1 = m, a2 = c, a3 = m + c, a4 = m - c, a5 = m * c;
  vector b0 = -a0, b1 = -a1, b2 = -a2, b3 = -a3, b4 = -a4, b5 = -a5;
  while (rounds-- > 0) {
    STEP(a0) STEP(a1) STEP(a2) STEP(a3) STEP(a4) STEP(a5)
    STEP(b0) STEP(b1) STEP(b2) STEP(b3) STEP(b4) STEP(b5)
  }
  memory[2] = a0 + a1 + a2 + a3 + a4 + a5 + b0 + b1 + b2 + b3 + b4 + b5;
}

/* rounds times all of some vectors, of which there are a multiple of eight */
void reading(long long rounds, const vector *memory, long long vectors, vector *result) {
  vector a0 = *result, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
  while (rounds-- > 0) {
    for (long long i = 0; i < vectors; i += 8) {
      const vector *at = memory + i;
      a0 += at[0], a1 += at[1], a2 += at[2], a3 += at[3];
      a4 += at[4], a5 += at[5], a6 += at[6], a7 += at[7];
    }
    __asm__ volatile("" ::: "memory"); /* every round reads anew */
  }
  *result = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
}
