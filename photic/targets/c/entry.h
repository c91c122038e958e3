typedef void (*photic_kernel)(void *const *buffers, const int64_t *sizes, char *scratch,
                              int64_t begin, int64_t end);
typedef struct photic_pool photic_pool;
#ifdef PHOTIC_TIMES
long long photic_cycles[KERNELS];
#endif
struct photic_pool {
  void (*parallel)(photic_pool *, photic_kernel, void *const *buffers, const int64_t *sizes,
                   char *scratch, int64_t scratch_stride, int64_t total);
};
__attribute__((noinline)) static void run(
    photic_pool *pool, photic_kernel kernel, void *const *buffers, const int64_t *sizes,
    char *scratch, int64_t total, int64_t work, int number) {
  if (total <= 0) return;
#ifdef PHOTIC_TIMES
  long long start = __builtin_readcyclecounter();
#endif
  if (total == 1 || work < SMALL_WORK) kernel(buffers, sizes, scratch, 0, total);
  else pool->parallel(pool, kernel, buffers, sizes, scratch, SCRATCH, total);
#ifdef PHOTIC_TIMES
  photic_cycles[number] += __builtin_readcyclecounter() - start;
#endif
}
static void copy_bytes(char *target, const char *source, int64_t bytes) {
  typedef char piece __attribute__((ext_vector_type(64), aligned(1)));
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) *(piece *)(target + i) = *(const piece *)(source + i);
  for (; i < bytes; i++) target[i] = source[i];
}
