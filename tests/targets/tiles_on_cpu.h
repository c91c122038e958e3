/* Matrix tiles on any processor: eight tiles of 16 rows of 64 bytes, by Intel's description (SDM,
   TDPBF16PS and its loads and stores), for texts that are made for AMX. Slow and plain. */

typedef long long tile_step;
static __thread unsigned char tile_bytes[8][16][64], tile_rows[8];
static __thread unsigned short tile_columns[8];

static void tile_configure(const void *shapes) {
  const unsigned char *at = shapes;
  for (int n = 0; n < 8; n++) {
    tile_columns[n] = at[16 + 2 * n] | at[17 + 2 * n] << 8;
    tile_rows[n] = at[48 + n];
  }
}

static void tile_clear(int n) {
  for (int r = 0; r < 16; r++)
    for (int c = 0; c < 64; c++) tile_bytes[n][r][c] = 0;
}

static void tile_load(int n, const void *from, tile_step step) {
  tile_clear(n);
  for (int r = 0; r < tile_rows[n]; r++)
    for (int c = 0; c < tile_columns[n]; c++)
      tile_bytes[n][r][c] = ((const unsigned char *)from)[r * step + c];
}

static void tile_store(int n, void *to, tile_step step) {
  for (int r = 0; r < tile_rows[n]; r++)
    for (int c = 0; c < tile_columns[n]; c++)
      ((unsigned char *)to)[r * step + c] = tile_bytes[n][r][c];
}

static float tile_half(const unsigned char *at) {
  union {
    unsigned bits;
    float value;
  } number = {(unsigned)(at[0] | at[1] << 8) << 16};
  return number.value;
}

static void tile_add(int sums, int left, int right) {
  for (int r = 0; r < tile_rows[sums]; r++)
    for (int c = 0; c < tile_columns[sums] / 4; c++) {
      union {
        unsigned char bytes[4];
        float value;
      } sum;
      for (int k = 0; k < 4; k++) sum.bytes[k] = tile_bytes[sums][r][4 * c + k];
      for (int k = 0; k < tile_columns[left] / 4; k++)
        for (int half = 0; half < 2; half++)
          sum.value += tile_half(&tile_bytes[left][r][4 * k + 2 * half]) *
                       tile_half(&tile_bytes[right][k][4 * c + 2 * half]);
      for (int k = 0; k < 4; k++) tile_bytes[sums][r][4 * c + k] = sum.bytes[k];
    }
}

#define __builtin_ia32_tile_loadconfig tile_configure
#define __builtin_ia32_tilezero tile_clear
#define __builtin_ia32_tileloadd64 tile_load
#define __builtin_ia32_tilestored64 tile_store
#define __builtin_ia32_tdpbf16ps tile_add
