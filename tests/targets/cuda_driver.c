// NVIDIA's driver as far as the cuda target calls it, on a processor; with HIP, AMD's, whose names
// stand before as macros. Machine code is the name of a library, whose kernels run at once. Memory
// ends at a page that may not be touched; before it, at the end of a buffer that is no multiple of
// 256 bytes, lie guard bytes that are looked at when it is freed. What a copy may not touch is
// refused, and so is all in a thread without a context.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OK, INVALID = 1, OUT_OF_MEMORY = 2, NO_CONTEXT = 201, NOT_FOUND = 500, UNSUPPORTED = 900, BUFFERS = 4096 };
enum { PAGE = 4096, ALIGNED = 256, GUARD = 0xA5, NOTHING = 0xC7 };
typedef unsigned long long address;
typedef void (*kernel)(void **given, unsigned groups, unsigned group, int backwards);
typedef struct { address at; size_t size, whole; void *pages; } buffer;

typedef struct graph graph;
static _Thread_local graph *recording;
static buffer buffers[BUFFERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void *current;
static void *const CONTEXT = buffers;

// What tests set and look at.
int photic_devices = 1, photic_backwards, photic_faults, photic_live, photic_launches;
long long photic_given_bytes, photic_taken_bytes;  // copied to the device and from it
long long photic_most_bytes = 1ll << 32;

int cuInit(unsigned flags) { return OK; }
int cuDeviceGetCount(int *count) { return *count = photic_devices, OK; }
int cuDeviceGet(int *device, int number) { return *device = number, OK; }
int cuDeviceGetName(char *name, int size, int device) {
  return snprintf(name, size, "a processor in place of a device"), OK;
}
#ifdef HIP
enum { UNITS = 63, L2_BYTES = 19 };
int hipGetDevicePropertiesR0600(char *properties, int device) {
  return strcpy(properties + 1160, "gfx90a:sramecc+:xnack-"), OK;
}
int cuCtxSetCurrent(int device) { return current = device == 0 ? CONTEXT : 0, OK; }
#else
enum { UNITS = 16, L2_BYTES = 38 };
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = CONTEXT, OK; }
int cuCtxSetCurrent(void *context) { return current = context, OK; }
#endif
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case UNITS: return *value = 2, OK;
    case L2_BYTES: return *value = 1 << 20, OK;
    case 75: return *value = 8, OK;         // compute capability
    case 76: return *value = 0, OK;
  }
  return INVALID;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = photic_most_bytes, OK; }
int cuDriverGetVersion(int *version) { return *version = 12040, OK; }
int cuGetErrorString(int status, const char **text) {
  *text = status == NO_CONTEXT ? "no context" : status == NOT_FOUND ? "not found" : "invalid value";
  return OK;
}

static int held(address at, size_t count) {
  for (int k = 0; k < BUFFERS; k++)
    if (buffers[k].at && buffers[k].at <= at && at + count <= buffers[k].at + buffers[k].size)
      return 1;
  return 0;
}

int cuMemAlloc_v2(address *at, size_t size) {
  if (current != CONTEXT) return NO_CONTEXT;
  if (recording) return UNSUPPORTED;
  if (!size || (long long)size > photic_most_bytes) return size ? OUT_OF_MEMORY : INVALID;
  size_t used = (size + ALIGNED - 1) / ALIGNED * ALIGNED, inner = (used + PAGE - 1) / PAGE * PAGE;
  char *pages = mmap(0, inner + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return OUT_OF_MEMORY;
  mprotect(pages + inner, PAGE, PROT_NONE);
  memset(pages, NOTHING, inner);
  memset(pages + inner - used + size, GUARD, used - size);
  pthread_mutex_lock(&lock);
  int k = 0;
  while (k < BUFFERS && buffers[k].at) k++;
  if (k < BUFFERS) {
    *at = (address)(pages + inner - used);
    buffers[k] = (buffer){*at, size, inner + PAGE, pages}, photic_live++;
  }
  pthread_mutex_unlock(&lock);
  return k < BUFFERS ? OK : OUT_OF_MEMORY;
}

int cuMemFree_v2(address at) {
  int status = INVALID;
  pthread_mutex_lock(&lock);
  for (int k = 0; k < BUFFERS; k++)
    if (buffers[k].at == at) {
      const unsigned char *end = (unsigned char *)at + buffers[k].size;
      for (; (address)end % ALIGNED; end++) photic_faults += *end != GUARD;
      munmap(buffers[k].pages, buffers[k].whole);
      buffers[k].at = 0, photic_live--, status = OK;
    }
  pthread_mutex_unlock(&lock);
  return status;
}

static int copy(address to, address from, size_t count, int to_is_ours, int from_is_ours) {
  if (current != CONTEXT) return NO_CONTEXT;
  if (recording) return UNSUPPORTED;
  pthread_mutex_lock(&lock);
  int good = (to_is_ours || held(to, count)) && (from_is_ours || held(from, count));
  pthread_mutex_unlock(&lock);
  if (good) memmove((void *)to, (void *)from, count);
  return good ? OK : INVALID;
}
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t count, void *stream) {
  __atomic_add_fetch(&photic_given_bytes, count, __ATOMIC_SEQ_CST);
  return copy(to, (address)from, count, 0, 1);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t count, void *stream) {
  __atomic_add_fetch(&photic_taken_bytes, count, __ATOMIC_SEQ_CST);
  return copy((address)to, from, count, 1, 0);
}
static int noted_copy(address to, address from, size_t count);
int cuMemcpyDtoDAsync_v2(address to, address from, size_t count, void *stream) {
  return noted_copy(to, from, count);
}

// ---- recording: what a thread launches into a stream is noted, with copies of its arguments -----

enum { UPDATE_FAILED = 910, NODES = 1 << 14 };
typedef struct { kernel run; void **(*keep)(void **given); } function;
typedef struct { function *what; void **given; unsigned groups, group; address to, from; size_t count; } node;
struct graph { int count; node nodes[]; };
int photic_recorded, photic_updated, photic_started, photic_graphs;
static char streams[2];  // the second waits for no other

static int noted(node one) {
  if (recording->count == NODES) return INVALID;
  recording->nodes[recording->count++] = one;
  return OK;
}
int cuStreamBeginCapture_v2(void *stream, int mode) {
  if (current != CONTEXT || recording || stream != streams + 1) return INVALID;
  recording = calloc(1, sizeof(graph) + NODES * sizeof(node));
  return photic_recorded++, OK;
}
int cuStreamEndCapture(void *stream, graph **found) {
  *found = recording, recording = 0, photic_graphs++;
  return *found ? OK : INVALID;
}
int cuGraphInstantiateWithFlags(graph **made, graph *from, unsigned long long flags) {
  const size_t size = sizeof(graph) + from->count * sizeof(node);
  *made = memcpy(malloc(size), from, size);
  return photic_graphs++, OK;
}
int cuGraphExecUpdate(graph *made, graph *from, void **node_, int *result) {
  int same = made->count == from->count;
  for (int k = 0; same && k < made->count; k++) same = made->nodes[k].what == from->nodes[k].what;
  if (!same) return UPDATE_FAILED;
  memcpy(made->nodes, from->nodes, made->count * sizeof(node));
  return photic_updated++, OK;
}
static int noted_copy(address to, address from, size_t count) {
  if (recording) return noted((node){.to = to, .from = from, .count = count});
  return copy(to, from, count, 0, 0);
}
int cuGraphDestroy(graph *one) { return free(one), photic_graphs--, OK; }
int cuGraphExecDestroy(graph *one) { return free(one), photic_graphs--, OK; }
int cuGraphLaunch(graph *one, void *stream) {
  if (current != CONTEXT || recording || stream != streams) return INVALID;
  for (int k = 0; k < one->count; k++) {
    node *each = one->nodes + k;
    if (each->what) each->what->run(each->given, each->groups, each->group, photic_backwards);
    else if (copy(each->to, each->from, each->count, 0, 0)) return INVALID;
  }
  return photic_started++, OK;
}

int cuModuleLoadData(void **module, const void *image) {
  if (current != CONTEXT) return NO_CONTEXT;
  *module = dlopen(image, RTLD_NOW | RTLD_LOCAL);
  if (!*module) fprintf(stderr, "%s\n", dlerror());
  return *module ? OK : INVALID;
}
int cuModuleUnload(void *module) { return dlclose(module) ? INVALID : OK; }
int cuModuleGetFunction(function **found, void *module, const char *name) {
  char text[256];
  function *made = malloc(sizeof *made);  // as long as the process: a recorded graph may hold it
  snprintf(text, sizeof text, "run_%s", name), made->run = (kernel)dlsym(module, text);
  snprintf(text, sizeof text, "keep_%s", name), made->keep = (void **(*)(void **))dlsym(module, text);
  return *found = made, made->run && made->keep ? OK : NOT_FOUND;
}

int cuStreamCreate(void **stream, unsigned flags) {
  return *stream = streams + flags, current == CONTEXT ? OK : NO_CONTEXT;
}
int cuStreamDestroy_v2(void *stream) { return OK; }
int cuStreamSynchronize(void *stream) {
  return recording ? UNSUPPORTED : current == CONTEXT ? OK : NO_CONTEXT;
}

int cuLaunchKernel(function *what, unsigned x, unsigned y, unsigned z, unsigned inner_x,
                   unsigned inner_y, unsigned inner_z, unsigned shared, void *stream,
                   void **given, void **extra) {
  if (current != CONTEXT) return NO_CONTEXT;
  if (!x || y != 1 || z != 1 || !inner_x || inner_x > 1024 || inner_y != 1 || inner_z != 1)
    return INVALID;
  if (recording) return noted((node){what, what->keep(given), x, inner_x});
  if (stream != streams) return INVALID;
  what->run(given, x, inner_x, photic_backwards);
  __atomic_add_fetch(&photic_launches, 1, __ATOMIC_SEQ_CST);
  return OK;
}
