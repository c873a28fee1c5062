// SPDX-License-Identifier: MPL-2.0

// The lab's all_reduce_perf: takes nccl-tests' options, really all-reduces host memory over MPI, really
// times and validates it, and prints the table (and the JSON report) of nccl-tests 2.19.6. Device names
// contain "lab": no number from here can be taken for a GPU's.
//
// A process stands for nThreads x nGpus GPUs of its host, each with buffers of its own. Which GPUs the
// host has is in LAB_GPUS (see standin.GPUFile), or in the file that $OCIHPC_LAB_GPUS names. MPI is used
// only under a launcher.

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAB_GPUS "/etc/ocihpc-lab-gpus"
#define VERSION "2.19.6"
#define HOST_MAX 256
#define MODEL_MAX 256

// Exit statuses of nccl-tests >= 2.17.7.
enum { EXIT_OK = 0, EXIT_NOT_IMPLEMENTED = 5, EXIT_INVALID_USAGE = 6, EXIT_WRONG = 7, EXIT_BAD_ARGUMENT = 255 };

// ---- what the host has -------------------------------------------------------------------------

static struct {
  int count;
  char model[MODEL_MAX];
  // Faults, for tests of those who look for them:
  int faulty;   // index of a GPU that corrupts its results, or -1
  int hang;     // whether the host's processes stand still as soon as they have to talk to another host
  int no_start; // whether no program can use the host's GPUs
  // What CUDA_VISIBLE_DEVICES leaves of them, by the host's own index; none where it is not set.
  int visible[64], visible_count;
} gpus = {0, "", -1, 0, 0, {0}, 0};

// As CUDA does, with indexes alone: the list ends at the first that is none.
static void read_visible(void) {
  const char *list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return;
  int count = gpus.count;
  gpus.count = 0;
  while (isdigit((unsigned char)*list) && gpus.visible_count < 64) {
    int index = (int)strtol(list, (char **)&list, 10);
    if (index >= count) break;
    gpus.visible[gpus.visible_count++] = index;
    if (*list == ',') list++;
  }
  gpus.count = gpus.visible_count;
}

// index_of gives the host's own index of a device.
static int index_of(int device) { return device < gpus.visible_count ? gpus.visible[device] : device; }

static void read_gpus(void) {
  const char *path = getenv("OCIHPC_LAB_GPUS") ? getenv("OCIHPC_LAB_GPUS") : LAB_GPUS;
  FILE *f = fopen(path, "r");
  if (!f) {
    fprintf(stderr, "lab: cannot read %s: %s\n", path, strerror(errno));
    return;
  }
  char line[512];
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\r\n")] = 0;
    char *value = strchr(line, '=');
    if (!value) continue;
    *value++ = 0;
    if (!strcmp(line, "count")) gpus.count = atoi(value);
    if (!strcmp(line, "model")) snprintf(gpus.model, sizeof gpus.model, "%s", value);
    if (!strcmp(line, "faulty")) gpus.faulty = atoi(value);
    if (!strcmp(line, "hang")) gpus.hang = atoi(value);
    if (!strcmp(line, "no_start")) gpus.no_start = atoi(value);
  }
  fclose(f);
  read_visible();
}

// ---- processes ---------------------------------------------------------------------------------

typedef struct {
  char host[HOST_MAX];
  int pid;
  int device; // index of the first GPU
  char model[MODEL_MAX];
} Process;

static struct {
  int mpi, rank, size;
  Process *all;
} world = {0, 0, 1, NULL};

static void start_world(int *argc, char ***argv) {
  world.mpi = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
  if (world.mpi) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  }
}

static void exchange_processes(int gpus_per_process) {
  Process me = {.pid = getpid()};
  gethostname(me.host, sizeof me.host - 1);
  me.host[strcspn(me.host, ".")] = 0;
  snprintf(me.model, sizeof me.model, "%s", gpus.model);
  world.all = calloc(world.size, sizeof me);
  world.all[0] = me;
  if (world.mpi) MPI_Allgather(&me, sizeof me, MPI_BYTE, world.all, sizeof me, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < world.size; i++) {
    for (int j = 0; j < i; j++) {
      if (!strcmp(world.all[i].host, world.all[j].host)) world.all[i].device += gpus_per_process;
    }
  }
}

static double sum_over_world(double value) {
  if (world.mpi) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

static double min_over_world(double value) {
  if (world.mpi) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return value;
}

static void barrier(void) {
  if (world.mpi) MPI_Barrier(MPI_COMM_WORLD);
}

// Only the first process prints the table.
#define PRINT(...) do { if (world.rank == 0) printf(__VA_ARGS__); } while (0)

static int fail(int status) {
  printf(" .. %s pid %d: Test failure all_reduce_perf.c\n", world.all[world.rank].host, getpid());
  fflush(stdout);
  exit(status); // without MPI_Finalize, so that the launcher stops the other processes too
}

// ---- types and reductions ----------------------------------------------------------------------

enum { SUM, PROD, MIN, MAX, AVG, OPS };
static const char *op_names[OPS] = {"sum", "prod", "min", "max", "avg"};
static MPI_Op mpi_op(int op) {
  switch (op) {
  case PROD: return MPI_PROD;
  case MIN: return MPI_MIN;
  case MAX: return MPI_MAX;
  default: return MPI_SUM;
  }
}

#define EACH_TYPE(X) \
  X(INT8, int8_t, "int8", MPI_INT8_T) X(UINT8, uint8_t, "uint8", MPI_UINT8_T) \
  X(INT32, int32_t, "int32", MPI_INT32_T) X(UINT32, uint32_t, "uint32", MPI_UINT32_T) \
  X(INT64, int64_t, "int64", MPI_INT64_T) X(UINT64, uint64_t, "uint64", MPI_UINT64_T) \
  X(FLOAT, float, "float", MPI_FLOAT) X(DOUBLE, double, "double", MPI_DOUBLE)

enum {
#define X(id, c, name, mpi) id,
  EACH_TYPE(X)
#undef X
  TYPES
};
static const char *type_names[TYPES] = {
#define X(id, c, name, mpi) name,
  EACH_TYPE(X)
#undef X
};
static const size_t type_sizes[TYPES] = {
#define X(id, c, name, mpi) sizeof(c),
  EACH_TYPE(X)
#undef X
};
static MPI_Datatype mpi_type(int type) {
  switch (type) {
#define X(id, c, name, mpi) case id: return mpi;
    EACH_TYPE(X)
#undef X
  }
  return MPI_DATATYPE_NULL;
}

// reduce_into does into[i] = into[i] op from[i].
static void reduce_into(void *into, const void *from, size_t count, int type, int op) {
#define LOOP(c, expression) { c *a = into; const c *b = from; for (size_t i = 0; i < count; i++) a[i] = (c)(expression); } break
#define X(id, c, name, mpi) case id: switch (op) { \
    case PROD: LOOP(c, a[i] * b[i]); \
    case MIN: LOOP(c, a[i] < b[i] ? a[i] : b[i]); \
    case MAX: LOOP(c, a[i] > b[i] ? a[i] : b[i]); \
    default: LOOP(c, a[i] + b[i]); } break;
  switch (type) { EACH_TYPE(X) }
#undef X
#undef LOOP
}

static void divide(void *into, size_t count, int type, int by) {
#define X(id, c, name, mpi) case id: { c *a = into; for (size_t i = 0; i < count; i++) a[i] = (c)(a[i] / (c)by); } break;
  switch (type) { EACH_TYPE(X) }
#undef X
}

// ---- data that shows errors --------------------------------------------------------------------

// Every rank has a pattern of its own, repeated over its buffer. The period is prime, so that a part in
// the wrong place is noticed; the values are small whole numbers (powers of two for prod), so that results
// are exact in every order and fit the type (Open MPI saturates 8-bit sums, plain C wraps them); the seed
// differs between measurements, so that an old result is noticed.
enum { PERIOD = 251 };

static void pattern(void *to, int ranks, int rank, int seed, int type, int op) {
  int bits = 8 * (int)type_sizes[type] - 2;
  int bound = bits < 8 ? 1 + 127 / ranks : 97;
  for (int i = 0; i < PERIOD; i++) {
    int value = (i * 7 + rank * 31 + seed * 17 + i * rank) % PERIOD;
    if (op == PROD) value = rank < bits ? 1 + value % 2 : 1;
    else value %= bound;
    switch (type) {
#define X(id, c, name, mpi) case id: ((c *)to)[i] = (c)value; break;
      EACH_TYPE(X)
#undef X
    }
  }
}

static void fill(char *buffer, size_t bytes, const char *from, size_t period) {
  for (size_t at = 0; at < bytes; at += period) {
    memcpy(buffer + at, from, bytes - at < period ? bytes - at : period);
  }
}

static uint64_t count_wrong(const char *buffer, size_t bytes, const char *expected, size_t period, size_t element) {
  uint64_t wrong = 0;
  for (size_t at = 0; at < bytes; at += period) {
    size_t length = bytes - at < period ? bytes - at : period;
    if (!memcmp(buffer + at, expected, length)) continue;
    for (size_t i = 0; i < length; i += element) wrong += memcmp(buffer + at + i, expected + i, element) != 0;
  }
  return wrong;
}

// ---- options -----------------------------------------------------------------------------------

static struct {
  int threads, gpus, factor, iterations, warmup, check, op, type;
  double min, max, step;
  const char *json;
} opt = {1, 1, 1, 20, 1, 1, SUM, FLOAT, 32 << 20, 32 << 20, 1 << 20, NULL};
enum { ALL = -1 };

static const struct option long_options[] = {
    {"nthreads", required_argument, 0, 't'},  {"ngpus", required_argument, 0, 'g'},
    {"minbytes", required_argument, 0, 'b'},  {"maxbytes", required_argument, 0, 'e'},
    {"stepbytes", required_argument, 0, 'i'}, {"stepfactor", required_argument, 0, 'f'},
    {"iters", required_argument, 0, 'n'},     {"warmup_iters", required_argument, 0, 'w'},
    {"check", required_argument, 0, 'c'},     {"op", required_argument, 0, 'o'},
    {"datatype", required_argument, 0, 'd'},  {"output_file", required_argument, 0, 'J'},
    {"help", no_argument, 0, 'h'},            {0, 0, 0, 0}};

static void usage(void) {
  printf("USAGE: all_reduce_perf \n"
         "\t[-t,--nthreads <num threads>] \n\t[-g,--ngpus <gpus per thread>] \n"
         "\t[-b,--minbytes <min size in bytes>] \n\t[-e,--maxbytes <max size in bytes>] \n"
         "\t[-i,--stepbytes <increment size>] \n\t[-f,--stepfactor <increment factor>] \n"
         "\t[-n,--iters <iteration count>] \n\t[-w,--warmup_iters <warmup iteration count>] \n"
         "\t[-c,--check <check iteration count>] \n\t[-o,--op <sum/prod/min/max/avg/all>] \n"
         "\t[-d,--datatype <nccltype/all>] \n"
         "\t[-J,--output_file <file> write output to filepath, if accessible. Infer type from suffix (only json supported presently.)] \n"
         "\t[-h,--help]\n"
         "This is the lab's stand-in: it has these options of nccl-tests and no others.\n");
}

// A size with an optional binary suffix, or -1.
static double parse_size(const char *text) {
  double size;
  char unit = 0;
  int n = sscanf(text, "%lf%c", &size, &unit);
  if (n < 1 || size < 0) return -1;
  if (n == 1) return size;
  switch (tolower((unsigned char)unit)) {
  case 'g': return size * (1 << 30);
  case 'm': return size * (1 << 20);
  case 'k': return size * (1 << 10);
  }
  return -1;
}

static double size_or_exit(const char *text, const char *option) {
  double size = parse_size(text);
  if (size < 0) {
    fprintf(stderr, "invalid size specified for '%s'\n", option);
    exit(EXIT_BAD_ARGUMENT);
  }
  return size;
}

static int lookup(const char *name, const char *const *names, int count, const char *what, int fallback) {
  if (!strcmp(name, "all")) return ALL;
  for (int i = 0; i < count; i++) {
    if (!strcmp(name, names[i])) return i;
  }
  // nccl-tests would know these; to measure something else instead would mislead.
  if (!strcmp(name, "half") || !strcmp(name, "bfloat16") || !strncmp(name, "f8", 2) || !strcmp(name, "mulsum")) {
    fprintf(stderr, "lab: %s %s is not implemented by the lab's all_reduce_perf\n", what, name);
    exit(EXIT_NOT_IMPLEMENTED);
  }
  PRINT("invalid %s %s, defaulting to %s instead\n", what, name, names[fallback]);
  return fallback;
}

static void parse_options(int argc, char **argv) {
  int c;
  while ((c = getopt_long(argc, argv, "t:g:b:e:i:f:n:w:c:o:d:J:h", long_options, NULL)) != -1) {
    switch (c) {
    case 't': opt.threads = atoi(optarg); break;
    case 'g': opt.gpus = atoi(optarg); break;
    case 'b': opt.min = size_or_exit(optarg, "minbytes"); break;
    case 'e': opt.max = size_or_exit(optarg, "maxbytes"); break;
    case 'i': opt.step = size_or_exit(optarg, "stepbytes"); break;
    case 'f': opt.factor = atoi(optarg); break;
    case 'n': opt.iterations = atoi(optarg); break;
    case 'w': opt.warmup = atoi(optarg); break;
    case 'c': opt.check = atoi(optarg); break;
    case 'o': opt.op = lookup(optarg, op_names, OPS, "reduction operation", SUM); break;
    case 'd': opt.type = lookup(optarg, type_names, TYPES, "type", FLOAT); break;
    case 'J': opt.json = optarg; break;
    default:
      if (c != 'h') printf("invalid option '%c'\n", c);
      usage();
      exit(EXIT_OK); // as nccl-tests does
    }
  }
  if (opt.min > opt.max) {
    fprintf(stderr, "invalid sizes for 'minbytes' and 'maxbytes': %.0f > %.0f\n", opt.min, opt.max);
    exit(EXIT_BAD_ARGUMENT);
  }
  if (opt.threads < 1 || opt.gpus < 1 || opt.iterations < 1 || opt.warmup < 0 || opt.check < 0) {
    fprintf(stderr, "lab: -t, -g and -n must be at least 1; -w and -c at least 0\n");
    exit(EXIT_INVALID_USAGE);
  }
}

// ---- JSON report -------------------------------------------------------------------------------

static FILE *json; // open on the first process when asked for

static void json_string(const char *text) {
  fputc('"', json);
  for (const unsigned char *p = (const unsigned char *)text; *p && *p < 128; p++) {
    if (*p == '"' || *p == '\\' || *p == '/') fprintf(json, "\\%c", *p);
    else if (*p < 32) fprintf(json, "\\u%04x", *p);
    else fputc(*p, json);
  }
  fputc('"', json);
}

static void json_strings(const char *key, char **list) {
  fprintf(json, "\"%s\":[", key);
  for (char **s = list; *s; s++) {
    if (s != list) fputc(',', json);
    json_string(*s);
  }
  fputs("],", json);
}

static void json_time(const char *key) {
  char text[32];
  time_t now = time(NULL);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime(&now));
  fprintf(json, "\"%s\":\"%s\"", key, text);
}

// json_open never overwrites: it appends .0, .1, ... to the name.
static void json_open(char **argv) {
  size_t length = strlen(opt.json);
  if (length < 5 || strcmp(opt.json + length - 5, ".json")) {
    printf("# skipping json output; %s does not end in .json\n", opt.json);
    return;
  }
  char name[4096];
  snprintf(name, sizeof name, "%s", opt.json);
  int fd = -1;
  for (int i = 0; (fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0 && errno == EEXIST; i++) {
    snprintf(name, sizeof name, "%s.%d", opt.json, i);
  }
  if (fd < 0 || !(json = fdopen(fd, "w"))) {
    printf("# skipping json output; %s: %s\n", name, strerror(errno));
    return;
  }
  printf("# Writing JSON output to %s\n", name);
  extern char **environ;
  fputs("{\"version\":3,", json);
  json_time("start_time");
  fputc(',', json);
  json_strings("args", argv);
  json_strings("env", environ);
  fputs("\"nccl_version\":0,", json);
}

// Bus address of a GPU, as in the rank lines.
static const char *bus_of(int device) {
  static char text[16];
  snprintf(text, sizeof text, "0000:%02x:00", 16 + device);
  return text;
}

static void json_config(uint64_t min, uint64_t max) {
  fprintf(json, "\"config\":{\"nthreads\":%d,\"ngpus\":%d,\"minimum_bytes\":%llu,\"maximum_bytes\":%llu,",
          opt.threads, opt.gpus, (unsigned long long)min, (unsigned long long)max);
  if (opt.factor > 1) fprintf(json, "\"step_factor\":%d,", opt.factor);
  else fprintf(json, "\"step_bytes\":%.0f,", opt.step);
  fprintf(json, "\"warmup_iters\":%d,\"iterations\":%d,\"aggregated_iterations\":1,\"validation\":%d,\"graph\":0,"
          "\"blocking_collectives\":\"false\",\"per_iter_timing\":\"false\",\"per_iter_skip\":0,"
          "\"parallel_init\":\"false\",\"devices\":[", opt.warmup, opt.iterations, opt.check);
  for (int i = 0; i < world.size; i++) { // the first GPU of each process, as nccl-tests does
    Process *p = &world.all[i];
    char info[MODEL_MAX + 32];
    snprintf(info, sizeof info, "lab %s (host memory)", p->model);
    fprintf(json, "%s{\"rank\":%d,\"group\":0,\"pid\":%d,\"hostname\":", i ? "," : "", i * opt.threads * opt.gpus, p->pid);
    json_string(p->host);
    fprintf(json, ",\"device\":%d,\"device_hex\":\"%s\",\"device_info\":", p->device, bus_of(p->device));
    json_string(info);
    fputc('}', json);
  }
  fputs("]},\"results\":[", json);
}

// ---- measurement -------------------------------------------------------------------------------

typedef struct {
  double time_us, algbw, busbw; // bandwidth in 10^9 bytes per second
  double wrong;                 // -1 when it was not checked
} Half;

static struct {
  int local, ranks; // GPUs of this process and of all
  char **send, **recv;
  double failed_checks;
} run;

static int rank_of(int local) { return world.rank * run.local + local; }

// all_reduce leaves the reduction in every recv; in place it starts from what is there.
static void all_reduce(size_t count, int type, int op, int in_place) {
  size_t bytes = count * type_sizes[type];
  char *result = run.recv[0];
  if (!in_place) memcpy(result, run.send[0], bytes);
  for (int g = 1; g < run.local; g++) reduce_into(result, in_place ? run.recv[g] : run.send[g], count, type, op);
  if (world.mpi) {
    const size_t most = 1 << 28; // MPI counts are int
    for (size_t at = 0; at < count; at += most) {
      int part = (int)(count - at < most ? count - at : most);
      MPI_Allreduce(MPI_IN_PLACE, result + at * type_sizes[type], part, mpi_type(type), mpi_op(op), MPI_COMM_WORLD);
    }
  }
  if (op == AVG) divide(result, count, type, run.ranks);
  for (int g = 1; g < run.local; g++) memcpy(run.recv[g], result, bytes);
  for (int g = 0; bytes && g < run.local; g++) {
    if (index_of(world.all[world.rank].device + g) == gpus.faulty) run.recv[g][bytes / 2] ^= 4;
  }
}

// hang_if_asked stands still where the host's network would be needed.
static void hang_if_asked(void) {
  for (int i = 0; gpus.hang && i < world.size; i++) {
    if (strcmp(world.all[i].host, world.all[world.rank].host)) pause();
  }
}

static void fill_all(size_t bytes, int type, int op, int seed, int in_place) {
  char values[PERIOD * sizeof(double)];
  for (int g = 0; g < run.local; g++) {
    pattern(values, run.ranks, rank_of(g), seed, type, op);
    if (in_place) {
      fill(run.recv[g], bytes, values, PERIOD * type_sizes[type]);
    } else {
      fill(run.send[g], bytes, values, PERIOD * type_sizes[type]);
      memset(run.recv[g], 0xA5, bytes);
    }
  }
}

static double check(size_t count, int type, int op, int seed, int in_place) {
  char expected[PERIOD * sizeof(double)], values[PERIOD * sizeof(double)];
  size_t bytes = count * type_sizes[type], period = PERIOD * type_sizes[type];
  pattern(expected, run.ranks, 0, seed, type, op);
  for (int rank = 1; rank < run.ranks; rank++) {
    pattern(values, run.ranks, rank, seed, type, op);
    reduce_into(expected, values, PERIOD, type, op);
  }
  if (op == AVG) divide(expected, PERIOD, type, run.ranks);

  fill_all(bytes, type, op, seed, in_place);
  all_reduce(count, type, op, in_place);
  uint64_t wrong = 0;
  for (int g = 0; g < run.local; g++) wrong += count_wrong(run.recv[g], bytes, expected, period, type_sizes[type]);
  if (wrong) run.failed_checks++;
  return sum_over_world((double)wrong);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static Half measure(size_t count, int type, int op, int in_place) {
  static int seed = 0;
  size_t bytes = count * type_sizes[type];
  Half half = {.wrong = -1};
  fill_all(bytes, type, op, ++seed, in_place);
  barrier();
  double start = now_us();
  for (int i = 0; i < opt.iterations; i++) all_reduce(count, type, op, in_place);
  half.time_us = sum_over_world(now_us() - start) / world.size / opt.iterations;
  half.algbw = bytes / (half.time_us * 1e3);
  half.busbw = half.algbw * 2 * (run.ranks - 1) / run.ranks;
  if (opt.check) {
    half.wrong = 0;
    for (int i = 0; i < opt.check; i++) half.wrong += check(count, type, op, ++seed, in_place);
  }
  return half;
}

// As many decimals as fit into the width, two at most.
static const char *number(double value, int width, char *text) {
  for (int decimals = 2; decimals >= 0; decimals--) {
    if (snprintf(text, 32, "%.*f", decimals, value) <= width) return text;
  }
  snprintf(text, 32, "%.*e", width >= 7 ? 1 : 0, value);
  return text;
}

static void print_half(Half h) {
  char t[32], a[32], b[32], w[32];
  snprintf(w, sizeof w, "%6g", h.wrong);
  PRINT("  %7s  %6s  %6s  %s", number(h.time_us, 7, t), number(h.algbw, 6, a), number(h.busbw, 6, b), h.wrong < 0 ? "  N/A" : w);
}

static void json_half(const char *key, Half h) {
  fprintf(json, "\"%s\":{\"time\":%f,\"alg_bw\":%f,\"bus_bw\":%f,\"nwrong\":", key, h.time_us, h.algbw, h.busbw);
  if (h.wrong < 0) fputs("null},", json);
  else fprintf(json, "%f},", h.wrong);
}

static double bandwidth_sum;
static int bandwidth_count;

static void measure_row(uint64_t size, int type, int op) {
  size_t count = size / type_sizes[type];
  uint64_t bytes = count * type_sizes[type];
  PRINT("%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)bytes, (unsigned long long)count, type_names[type], op_names[op], -1);
  Half out = measure(count, type, op, 0);
  print_half(out);
  Half in = measure(count, type, op, 1);
  print_half(in);
  PRINT("\n");
  if (json) {
    fprintf(json, "%s{\"size\":%llu,\"count\":%llu,\"type\":\"%s\",\"redop\":\"%s\",\"root\":\"%6d\",", bandwidth_count ? "," : "",
            (unsigned long long)bytes, (unsigned long long)count, type_names[type], op_names[op], -1);
    json_half("out_of_place", out);
    json_half("in_place", in);
    fprintf(json, "\"actual_iterations\":%d,\"experiment_name\":\"\"}", opt.iterations);
  }
  bandwidth_sum += out.busbw + in.busbw;
  bandwidth_count += 2;
}

static void measure_all(uint64_t min, uint64_t max) {
  for (int type = 0; type < TYPES; type++) {
    if (opt.type != ALL && opt.type != type) continue;
    for (int op = 0; op < OPS; op++) {
      if (opt.op != ALL && opt.op != op) continue;
      fill_all(max, type, op, 0, 0);
      for (int i = 0; i < opt.warmup; i++) all_reduce(max / type_sizes[type], type, op, 0);
      for (uint64_t size = min; size <= max;) {
        measure_row(size, type, op);
        uint64_t next = opt.factor > 1 ? size * opt.factor : size + (uint64_t)opt.step;
        if (next <= size) break;
        size = next;
      }
    }
  }
}

// ---- header, footer, main ----------------------------------------------------------------------

static void print_header(void) {
  PRINT("# nccl-tests version " VERSION " nccl-headers=lab nccl-library=lab\n");
  PRINT("# Collective test starting: all_reduce_perf\n");
  PRINT("# nThread %d nGpus %d minBytes %.0f maxBytes %.0f step: %.0f(%s) warmup iters: %d iters: %d agg iters: 1 validation: %d graph: 0 unalign: 0\n",
        opt.threads, opt.gpus, opt.min, opt.max, opt.factor > 1 ? opt.factor : opt.step, opt.factor > 1 ? "factor" : "bytes",
        opt.warmup, opt.iterations, opt.check);
  PRINT("#\n# Using devices\n");
}

static void require_gpus(void) {
  if (gpus.no_start) {
    printf("%s: Test CUDA failure all_reduce_perf.c 'initialization error'\n", world.all[world.rank].host);
    fail(2);
  }
  int wanted = world.all[world.rank].device + run.local;
  if (wanted <= gpus.count) return;
  fprintf(stderr, "Invalid number of GPUs: %d requested but only %d were found.\n"
                  "Please check the number of processes and GPUs per process.\n", wanted, gpus.count);
  fail(EXIT_NOT_IMPLEMENTED);
}

static void print_ranks(void) {
  for (int rank = 0; rank < run.ranks; rank++) {
    Process *p = &world.all[rank / run.local];
    int device = p->device + rank % run.local;
    PRINT("#  Rank %2d Group  0 Pid %6d on %10s device %2d [%s] lab %s (host memory)\n", rank, p->pid, p->host, device, bus_of(device), p->model);
  }
}

// What NCCL logs of its transport, in its words: MPI joins the hosts by sockets, and shared memory the GPUs of one.
static void log_transport(void) {
  const char *level = getenv("NCCL_DEBUG");
  if (!level || (strcmp(level, "INFO") && strcmp(level, "TRACE"))) return;
  Process *me = &world.all[world.rank], *next = &world.all[(world.rank + 1) % world.size];
  int hosts_differ = strcmp(me->host, next->host) != 0;
  char prefix[HOST_MAX + 64];
  snprintf(prefix, sizeof prefix, "%s:%d:%d [%d] NCCL INFO", me->host, me->pid, me->pid, me->device);
  if (world.rank == 0) printf("%s NCCL version 0.0.0+lab\n", prefix);
  printf("%s NET/IB : No device found.\n%s NET/Socket : Using [0]eth0:lab<0>\n%s Using network Socket\n", prefix, prefix, prefix);
  printf("%s 1 coll channels, 0 collnet channels, 0 nvls channels, 1 p2p channels, 1 p2p channels per peer\n", prefix);
  if (world.size > 1) {
    printf("%s Channel 00/0 : %d[%d] -> %d[%d] %s\n", prefix, world.rank, me->device, (world.rank + 1) % world.size, next->device,
           hosts_differ ? "[send] via NET/Socket/0" : "via SHM/direct/direct");
  }
  fflush(stdout);
}

static void print_columns(void) {
  PRINT("#\n"
        "#                                                              out-of-place                       in-place          \n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         \n");
}

// All lab hosts of a machine share its memory, so the limit is a part of what is available there.
static uint64_t memory_limit(void) {
  unsigned long long kib = 0;
  char line[256];
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %llu", &kib) != 1) {}
  if (f) fclose(f);
  return (uint64_t)min_over_world(kib * 1024.0 / 2 / (2.0 * run.ranks));
}

static void allocate(uint64_t bytes) {
  run.send = calloc(run.local, sizeof *run.send);
  run.recv = calloc(run.local, sizeof *run.recv);
  for (int g = 0; g < run.local; g++) {
    run.send[g] = malloc(bytes + 1);
    run.recv[g] = malloc(bytes + 1);
    if (!run.send[g] || !run.recv[g]) {
      printf("%s: Test CUDA failure all_reduce_perf.c 'out of memory'\n", world.all[world.rank].host);
      fail(2);
    }
  }
}

static int print_footer(void) {
  double failed = sum_over_world(run.failed_checks), average = bandwidth_sum / bandwidth_count;
  const char *verdict = "", *limit = getenv("NCCL_TESTS_MIN_BW");
  int missed = limit && average < 0.9 * atof(limit); // as nccl-tests, which allows a tenth
  if (limit) verdict = missed ? "FAILED" : "OK";
  PRINT("# Out of bounds values : %.0f %s\n", failed, failed ? "FAILED" : "OK");
  PRINT("# Avg bus bandwidth    : %g %s\n", average, verdict);
  PRINT("#\n# Collective test concluded: all_reduce_perf\n#\n\n");
  if (json) {
    fprintf(json, "],\"out_of_bounds\":{\"count\":%.0f,\"okay\":\"%s\"},", failed, failed ? "false" : "true");
    fprintf(json, "\"average_bus_bandwidth\":{\"bandwidth\":%f,\"okay\":\"%s\"},\"errors\":[\"\"],", average,
            limit ? (missed ? "false" : "true") : "unchecked");
    json_time("end_time");
    fputc('}', json);
    fclose(json);
  }
  return failed || missed ? EXIT_WRONG : EXIT_OK;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0); // rows come whole, each as soon as it is measured
  start_world(&argc, &argv);
  parse_options(argc, argv);
  read_gpus();
  run.local = opt.threads * opt.gpus;
  run.ranks = world.size * run.local;
  exchange_processes(run.local);

  if (opt.json && world.rank == 0) json_open(argv);
  print_header();
  require_gpus();
  barrier(); // a rank list is printed only when every process has its GPUs
  print_ranks();
  log_transport();
  barrier(); // the table comes after the log
  uint64_t min = (uint64_t)opt.min, max = (uint64_t)opt.max, limit = memory_limit();
  if (max > limit) {
    max = limit;
    if (min > max) min = max;
    PRINT("#\n# Reducing maxBytes to %llu due to memory limitation\n", (unsigned long long)max);
  }
  allocate(max);
  if (json) json_config(min, max);
  print_columns();
  hang_if_asked();
  measure_all(min, max);
  int status = print_footer();

  if (world.mpi) MPI_Finalize();
  if (status != EXIT_OK) fail(status);
  return EXIT_OK;
}
