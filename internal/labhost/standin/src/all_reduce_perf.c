// SPDX-License-Identifier: MPL-2.0

// The lab's all_reduce_perf: takes nccl-tests' options, really all-reduces host memory over MPI, really
// times and validates it, and prints the table (and the JSON report) of nccl-tests 2.19.6, or of an earlier
// version that LAB_GPUS names, from 2.17.9 on. Device names contain "lab": no number from here can be taken
// for a GPU's.
//
// A process stands for nThreads x nGpus GPUs of its host, each with buffers of its own. Which GPUs the
// host has is in LAB_GPUS (see standin.GPUFile), or in the file that $OCIHPC_LAB_GPUS names. MPI is used
// only under a launcher.

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAB_GPUS "/etc/ocihpc-lab-gpus"
#define HOST_MAX 256
#define MODEL_MAX 256

// Exit statuses of nccl-tests >= 2.17.7.
enum { EXIT_OK = 0, EXIT_NOT_IMPLEMENTED = 5, EXIT_INVALID_USAGE = 6, EXIT_WRONG = 7, EXIT_BAD_ARGUMENT = 255 };

#include "host.h"
#include "data.h"
#include "options.h"
#include "json.h"
#include "iterations.h"

// ---- measurement -------------------------------------------------------------------------------

typedef struct {
  double time_us, algbw, busbw; // bandwidth in 10^9 bytes per second
  double wrong;                 // -1 when it was not checked
  Iterations iterations;        // with -I
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
  double times[opt.iterations], total = 0;
  fill_all(bytes, type, op, ++seed, in_place);
  barrier();
  for (int i = 0; i < opt.iterations; i++) {
    double start = now_us();
    if (i % 5 == 4) usleep(gpus.throttle * 1000);
    all_reduce(count, type, op, in_place); // MPI waits for its end by itself, as -z 2 does
    if (opt.blocking == 1) barrier();
    total += times[i] = now_us() - start;
    if (opt.blocking == 3) barrier();
  }
  half.time_us = sum_over_world(total) / world.size / opt.iterations;
  if (opt.timed) half.iterations = gather_iterations(times);
  half.algbw = bytes / (half.time_us * 1e3);
  half.busbw = half.algbw * 2 * (run.ranks - 1) / run.ranks;
  if (opt.check) {
    half.wrong = 0;
    for (int i = 0; i < opt.check; i++) half.wrong += check(count, type, op, ++seed, in_place);
  }
  return half;
}

static void print_half(Half h) {
  char t[32], a[32], b[32], w[32];
  snprintf(w, sizeof w, "%6g", h.wrong);
  PRINT("  %7s  %6s  %6s  %s", number(h.time_us, 7, t), number(h.algbw, 6, a), number(h.busbw, 6, b), h.wrong < 0 ? "  N/A" : w);
  if (opt.timed) print_iterations(&h.iterations);
}

static void json_half(const char *key, Half h) {
  fprintf(json, "\"%s\":{\"time\":%f,\"alg_bw\":%f,\"bus_bw\":%f,\"nwrong\":", key, h.time_us, h.algbw, h.busbw);
  if (h.wrong < 0) fputs("null},", json);
  else fprintf(json, "%f},", h.wrong);
  if (opt.timed) json_iterations(key, &h.iterations);
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
  PRINT("# nccl-tests version %s nccl-headers=lab nccl-library=lab\n", gpus.tests);
  PRINT("# Collective test starting: all_reduce_perf\n");
  PRINT("# nThread %d nGpus %d minBytes %.0f maxBytes %.0f step: %.0f(%s) warmup iters: %d iters: %d agg iters: 1 validation: %d graph: 0 unalign: 0\n",
        opt.threads, opt.gpus, opt.min, opt.max, opt.factor > 1 ? opt.factor : opt.step, opt.factor > 1 ? "factor" : "bytes",
        opt.warmup, opt.iterations, opt.check);
  if (opt.blocking == 1) PRINT("# Blocking Enabled: wait and barrier after each inner iteration (-m) \n");
  if (opt.blocking == 2) PRINT("# Blocking Enabled: wait after each inner iteration (-m), no barrier \n");
  if (opt.blocking == 3) PRINT("# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n");
  if (opt.timed) {
    PRINT("# Per-Iteration Report: lab host timing; i_* uses max over process rows");
    if (opt.skip) PRINT("; summary skips first %d iterations", opt.skip);
    PRINT(" \n");
  }
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
  if (opt.timed) {
    print_timed_columns();
    return;
  }
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
  read_gpus();
  parse_options(argc, argv);
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
