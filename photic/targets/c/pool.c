/* The thread pool of the c target: one struct, given to generated code as a pointer.

   Promises: parallel() calls the kernel on chunks that together are [0, total), each exactly once,
   and returns when all are done. Thread t (0 is the caller) uses scratch + t * scratch_stride. Any
   number of threads may call at once: who finds the pool busy does its job alone, on the scratch it
   brought. In a forked child the workers are started anew at the first call. Workers run with the
   default rounding and with subnormals kept. An idle worker sleeps.

   How it works: `state` holds a job's number, whether it is open to join, and how many workers have
   joined. Every thread has a share of the job, takes chunks off it, then off the others' shares; a
   worker that wakes late finds the job closed and has held up nobody. What is shared between
   threads without an atomic (the job's fields) is written only while no worker has joined.

   Does not decide how much work is worth a thread, nor pin threads to cores. */

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(_WIN32)
#define PHOTIC_THREADS 0
#else
#define PHOTIC_THREADS 1
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* Longer than the gap between two jobs of one program, shorter than a user would notice. */
#define SPIN_NANOSECONDS 50000
#define SPINS_PER_CLOCK 16
#define CHUNKS_PER_THREAD 4
#define WAKE_FAN_OUT 4
#define PATIENCE_SPINS 32 /* 0.5 to 2 microseconds */
#define STACK_BYTES (2 << 20)
#define LINE 128 /* two cache lines: neighbours are fetched in pairs */

typedef void (*photic_kernel)(void *const *buffers, const int64_t *sizes, char *scratch,
                              int64_t begin, int64_t end);
typedef struct photic_pool photic_pool;

/* One thread's part of a job: chunks are taken off its front, by anyone. */
typedef struct {
  _Alignas(LINE) _Atomic int64_t next;
  int64_t end;
} share;

typedef struct {
  photic_pool *pool;
  int64_t index;
  uint32_t seen; /* the last job's number when the worker was started */
} worker_start;

struct photic_pool {
  /* what generated code sees */
  void (*parallel)(photic_pool *, photic_kernel, void *const *buffers, const int64_t *sizes,
                   char *scratch, int64_t scratch_stride, int64_t total);
  int64_t threads;

  uint32_t number; /* of the last job; only for who holds `busy` */
  share *shares;
  worker_start *starts;
  _Atomic uint32_t *asleep; /* by thread: 1 while it sleeps; who wakes it clears it */

  /* ALIVE while this process has workers; lies in a page that fork() clears in the child */
  _Atomic uint32_t *alive;
  int64_t process; /* where no such page can be had: the process that has the workers; else 0 */

  _Alignas(LINE) _Atomic uint32_t busy;

  /* One cache line, so that joining brings the job along. The job is written by the caller that
     holds `busy`, and read by workers that have joined. */
  _Alignas(LINE) _Atomic uint64_t state;
  photic_kernel kernel;
  void *const *buffers;
  const int64_t *sizes;
  char *scratch;
  int64_t scratch_stride;
  int64_t chunk;
  _Atomic int64_t total; /* before joining, only a hint */

  _Alignas(LINE) _Atomic uint32_t finishes; /* a sleeping caller waits for a change of this */
};

/* state = number << 32 | OPEN | WAITING | joined workers */
#define OPEN ((uint64_t)1 << 31)
#define WAITING ((uint64_t)1 << 30)
#define JOINED (WAITING - 1)
#define NUMBER(state) ((uint32_t)((state) >> 32))

enum { GONE = 0, REVIVING = 1, ALIVE = 2 };

/* --- floating-point mode ------------------------------------------------------------------ */

#if defined(__x86_64__)
#define FLOAT_MODE_MASK 0xffc0u /* all but the sticky exception flags */
#define FLOAT_MODE_DEFAULT 0x1f80u
static inline uint64_t float_mode(void) { return __builtin_ia32_stmxcsr() & FLOAT_MODE_MASK; }
static inline void set_float_mode(uint64_t mode) { __builtin_ia32_ldmxcsr((unsigned)mode); }
#elif defined(__aarch64__)
#define FLOAT_MODE_DEFAULT 0u
static inline uint64_t float_mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void set_float_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
#define FLOAT_MODE_DEFAULT 0u
static inline uint64_t float_mode(void) { return 0; }
static inline void set_float_mode(uint64_t mode) { (void)mode; }
#endif

#if PHOTIC_THREADS

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

/* --- one thread's work -------------------------------------------------------------------- */

/* Take chunks off one share until it is empty. */
static void take_chunks(photic_pool *pool, share *from, char *scratch) {
  int64_t chunk = pool->chunk;
  while (atomic_load_explicit(&from->next, memory_order_relaxed) < from->end) {
    int64_t begin = atomic_fetch_add_explicit(&from->next, chunk, memory_order_relaxed);
    if (begin >= from->end) return;
    int64_t end = from->end - begin < chunk ? from->end : begin + chunk;
    pool->kernel(pool->buffers, pool->sizes, scratch, begin, end);
  }
}

/* What another thread is about to do lies in its cache: fetching it from there costs more than a
   short job takes. So wait a little before helping, unless nobody else is here. */
static int wait_for_owner(photic_pool *pool, share *from, int patience) {
  if (!(atomic_load_explicit(&pool->state, memory_order_relaxed) & JOINED)) return 0;
  while (patience > 0 && atomic_load_explicit(&from->next, memory_order_relaxed) < from->end) {
    relax();
    patience--;
  }
  return patience;
}

static void work(photic_pool *pool, int64_t index) {
  char *scratch = pool->scratch + index * pool->scratch_stride;
  int64_t threads = pool->threads;
  int patience = PATIENCE_SPINS;
  take_chunks(pool, &pool->shares[index], scratch);
  for (int64_t step = 1; step < threads; step++) {
    int64_t other = index + step < threads ? index + step : index + step - threads;
    patience = wait_for_owner(pool, &pool->shares[other], patience);
    take_chunks(pool, &pool->shares[other], scratch);
  }
}

static int64_t now_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- sleeping and waking ------------------------------------------------------------------ */

#if defined(__linux__)
static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static void wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
static void forget_sleepers(void) {}
#else
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
  pthread_mutex_lock(&bed);
  while (atomic_load(word) == value) pthread_cond_wait(&bell, &bed);
  pthread_mutex_unlock(&bed);
}
static void wake(_Atomic uint32_t *word, int count) {
  pthread_mutex_lock(&bed);
  pthread_cond_broadcast(&bell);
  pthread_mutex_unlock(&bed);
}
static void forget_sleepers(void) {
  pthread_mutex_init(&bed, NULL);
  pthread_cond_init(&bell, NULL);
}
#endif

/* --- workers ------------------------------------------------------------------------------ */

/* Waits until the job's number is no longer `seen`: first spinning, then asleep. */
static uint64_t next_job(photic_pool *pool, int64_t index, uint32_t seen) {
  uint64_t state;
  int64_t end = now_nanoseconds() + SPIN_NANOSECONDS;
  do {
    for (int spin = 0; spin < SPINS_PER_CLOCK; spin++) {
      state = atomic_load_explicit(&pool->state, memory_order_acquire);
      if (NUMBER(state) != seen) return state;
      relax();
    }
  } while (now_nanoseconds() < end);
  for (;;) {
    /* Announce, then look again: publish() does the opposite, so that one of the two sees. */
    atomic_store(&pool->asleep[index], 1);
    state = atomic_load(&pool->state);
    if (NUMBER(state) != seen) break;
    while (atomic_load(&pool->asleep[index])) sleep_while(&pool->asleep[index], 1);
  }
  atomic_store(&pool->asleep[index], 0);
  return state;
}

/* Each thread wakes those below it in a tree, so that the caller need not wake them all. One that
   was woken and has not run yet is not woken again. */
static void wake_below(photic_pool *pool, int64_t index) {
  int64_t total = atomic_load_explicit(&pool->total, memory_order_relaxed);
  int64_t useful = total < pool->threads ? total : pool->threads;
  int64_t end = index * WAKE_FAN_OUT + WAKE_FAN_OUT;
  for (int64_t one = index * WAKE_FAN_OUT + 1; one <= end && one < useful; one++)
    if (atomic_load(&pool->asleep[one]) && atomic_exchange(&pool->asleep[one], 0))
      wake(&pool->asleep[one], 1);
}

static int join(photic_pool *pool, uint32_t number) {
  uint64_t state = atomic_load(&pool->state);
  while (NUMBER(state) == number && (state & OPEN))
    if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) return 1;
  return 0;
}

static void leave(photic_pool *pool) {
  uint64_t before = atomic_fetch_sub(&pool->state, 1);
  if ((before & JOINED) == 1 && (before & WAITING)) {
    atomic_fetch_add(&pool->finishes, 1);
    wake(&pool->finishes, 1);
  }
}

static void *worker(void *argument) {
  worker_start start = *(worker_start *)argument;
  photic_pool *pool = start.pool;
  uint32_t seen = start.seen;
  set_float_mode(FLOAT_MODE_DEFAULT); /* a thread inherits its maker's mode */
#if defined(__linux__)
  prctl(PR_SET_NAME, "photic", 0, 0, 0);
#endif
  for (;;) {
    seen = NUMBER(next_job(pool, start.index, seen));
    if (start.index >= atomic_load_explicit(&pool->total, memory_order_relaxed)) continue;
    if (!join(pool, seen)) continue;
    wake_below(pool, start.index);
    work(pool, start.index);
    leave(pool);
  }
  return NULL;
}

/* A worker that cannot be started is not missed: the others take its share. */
static void start_workers(photic_pool *pool) {
  sigset_t blocked, before;
  sigfillset(&blocked); /* signals belong to the user's threads, faults to whoever faults */
  int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
  for (unsigned one = 0; one < sizeof faults / sizeof *faults; one++) sigdelset(&blocked, faults[one]);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  for (int64_t index = 1; index < pool->threads; index++) {
    pthread_t thread;
    pool->starts[index] = (worker_start){pool, index, pool->number};
    pthread_create(&thread, &attributes, worker, &pool->starts[index]);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

/* --- the caller --------------------------------------------------------------------------- */

/* The first call in this process (or in a forked child): whatever state a fork froze is reset. */
static int revive(photic_pool *pool) {
  uint32_t gone = GONE;
  if (!atomic_compare_exchange_strong(pool->alive, &gone, REVIVING)) return 0;
  forget_sleepers();
  atomic_store(&pool->state, (uint64_t)pool->number << 32);
  for (int64_t one = 0; one < pool->threads; one++) atomic_store(&pool->asleep[one], 0);
  atomic_store(&pool->busy, 0);
  start_workers(pool);
  atomic_store(pool->alive, ALIVE);
  return 1;
}

static int take(photic_pool *pool) {
  if (pool->process && pool->process != getpid()) {
    pool->process = getpid();
    atomic_store(pool->alive, GONE);
  }
  if (atomic_load_explicit(pool->alive, memory_order_acquire) != ALIVE && !revive(pool)) return 0;
  uint32_t free = 0;
  return atomic_load_explicit(&pool->busy, memory_order_relaxed) == 0 &&
         atomic_compare_exchange_strong(&pool->busy, &free, 1);
}

static void publish(photic_pool *pool, int64_t total) {
  int64_t threads = pool->threads, each = total / threads, more = total % threads, begin = 0;
  for (int64_t index = 0; index < threads; index++) {
    atomic_store_explicit(&pool->shares[index].next, begin, memory_order_relaxed);
    begin += each + (index < more);
    pool->shares[index].end = begin;
  }
  pool->chunk = total / (threads * CHUNKS_PER_THREAD);
  if (pool->chunk < 1) pool->chunk = 1;
  atomic_store_explicit(&pool->total, total, memory_order_relaxed);
  pool->number++;
  atomic_store(&pool->state, (uint64_t)pool->number << 32 | OPEN);
  wake_below(pool, 0);
}

static void close_and_wait(photic_pool *pool) {
  uint64_t state = atomic_fetch_and(&pool->state, ~OPEN);
  if (!(state & JOINED)) return;
  int64_t end = now_nanoseconds() + SPIN_NANOSECONDS;
  do {
    for (int spin = 0; spin < SPINS_PER_CLOCK; spin++) {
      if (!(atomic_load_explicit(&pool->state, memory_order_acquire) & JOINED)) return;
      relax();
    }
  } while (now_nanoseconds() < end);
  for (;;) {
    uint32_t finishes = atomic_load(&pool->finishes);
    if (!(atomic_fetch_or(&pool->state, WAITING) & JOINED)) return;
    sleep_while(&pool->finishes, finishes);
  }
}

#endif

static void parallel(photic_pool *pool, photic_kernel kernel, void *const *buffers,
                     const int64_t *sizes, char *scratch, int64_t scratch_stride, int64_t total) {
  if (total <= 0) return;
  uint64_t mode = float_mode();
  if (mode != FLOAT_MODE_DEFAULT) set_float_mode(FLOAT_MODE_DEFAULT);
#if PHOTIC_THREADS
  if (total > 1 && pool->threads > 1 && take(pool)) {
    pool->kernel = kernel;
    pool->buffers = buffers;
    pool->sizes = sizes;
    pool->scratch = scratch;
    pool->scratch_stride = scratch_stride;
    publish(pool, total);
    work(pool, 0);
    close_and_wait(pool);
    atomic_store_explicit(&pool->busy, 0, memory_order_release);
  } else
#endif
    kernel(buffers, sizes, scratch, 0, total);
  if (mode != FLOAT_MODE_DEFAULT) set_float_mode(mode);
}

/* --- making one --------------------------------------------------------------------------- */

static void *zeroed(size_t bytes) {
  void *memory = NULL;
  bytes = (bytes + LINE - 1) / LINE * LINE;
#if PHOTIC_THREADS
  if (posix_memalign(&memory, LINE, bytes)) return NULL;
#else
  memory = malloc(bytes);
  if (!memory) return NULL;
#endif
  for (size_t at = 0; at < bytes; at++) ((char *)memory)[at] = 0;
  return memory;
}

#if PHOTIC_THREADS
static int make_alive(photic_pool *pool) {
  long page_bytes = sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (page == MAP_FAILED) return 0;
  pool->alive = page;
  pool->process = getpid();
#if defined(MADV_WIPEONFORK)
  if (!madvise(page, page_bytes, MADV_WIPEONFORK)) pool->process = 0;
#endif
  return 1;
}
#endif

/* A pool of `threads` (the caller of parallel() counts as one), or NULL without memory. It lives
   as long as the process; its workers are started by the first job. */
photic_pool *photic_pool_create(int64_t threads) {
  photic_pool *pool = zeroed(sizeof *pool);
  if (!pool) return NULL;
  pool->parallel = parallel;
  pool->threads = threads;
#if PHOTIC_THREADS
  pool->shares = zeroed(sizeof(share) * threads);
  pool->starts = zeroed(sizeof(worker_start) * threads);
  pool->asleep = zeroed(sizeof(uint32_t) * threads);
  if (!pool->shares || !pool->starts || !pool->asleep || !make_alive(pool)) return NULL;
#else
  pool->threads = 1;
#endif
  return pool;
}
