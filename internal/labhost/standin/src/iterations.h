// SPDX-License-Identifier: MPL-2.0

// ---- single iterations (-I) --------------------------------------------------------------------

// Iterations are the times of one placement, in microseconds. They are known on the first process alone.
typedef struct {
  double *times;     // of each iteration, on its slowest process
  double *processes; // of each process and iteration; NULL with only one process
  double min, max, mean, p50, p95, p99, deviation;
} Iterations;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double percentile(const double *sorted, int count, int percent) { // of nearest rank
  int at = (count * percent + 99) / 100 - 1;
  return sorted[at < count ? at : count - 1];
}

static void summarise(Iterations *it) {
  int count = opt.iterations - opt.skip;
  double sorted[count], sum = 0, squares = 0;
  memcpy(sorted, it->times + opt.skip, sizeof sorted);
  qsort(sorted, count, sizeof *sorted, compare);
  for (int i = 0; i < count; i++) sum += sorted[i];
  it->mean = sum / count;
  for (int i = 0; i < count; i++) squares += (sorted[i] - it->mean) * (sorted[i] - it->mean);
  it->deviation = sqrt(squares / count);
  it->min = sorted[0];
  it->max = sorted[count - 1];
  it->p50 = sorted[count / 2];
  it->p95 = percentile(sorted, count, 95);
  it->p99 = percentile(sorted, count, 99);
}

static Iterations gather_iterations(const double *times) {
  Iterations it = {0};
  int count = opt.iterations;
  if (world.rank == 0) {
    it.times = calloc(count, sizeof *times);
    memcpy(it.times, times, count * sizeof *times);
    if (world.size > 1) it.processes = calloc((size_t)world.size * count, sizeof *times);
  }
  if (world.size > 1) MPI_Gather(times, count, MPI_DOUBLE, it.processes, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (world.rank != 0) return it;
  for (int i = 0; it.processes && i < world.size * count; i++) {
    if (it.processes[i] > it.times[i % count]) it.times[i % count] = it.processes[i];
  }
  summarise(&it);
  return it;
}

static double variation(const Iterations *it) { return it->mean > 0 ? it->deviation / it->mean * 100 : 0; }

static void print_iterations(const Iterations *it) {
  char min[32], max[32], p99[32], cv[32];
  PRINT("  %7s  %7s  %7s  %7s", number(it->min, 7, min), number(it->max, 7, max), number(it->p99, 7, p99), number(variation(it), 7, cv));
}

static void json_times(const double *times) {
  fputc('[', json);
  for (int i = 0; i < opt.iterations; i++) fprintf(json, "%s%f", i ? "," : "", times[i]);
  fputc(']', json);
}

static void json_iterations(const char *placement, const Iterations *it) {
  fprintf(json, "\"%s_per_iter\":{", placement);
  if (since(2, 19, 6)) fprintf(json, "\"skipped_iterations\":%d,", opt.skip);
  fprintf(json, "\"min_us\":%f,\"max_us\":%f,\"avg_us\":%f,\"p50_us\":%f,\"p95_us\":%f,\"p99_us\":%f,\"stdev_us\":%f,\"cv_pct\":%f,\"times_us\":",
          it->min, it->max, it->mean, it->p50, it->p95, it->p99, it->deviation, variation(it));
  json_times(it->times);
  if (it->processes) {
    fputs(",\"per_process_max_times_us\":[", json);
    for (int i = 0; i < world.size; i++) {
      if (i) fputc(',', json);
      json_times(it->processes + (size_t)i * opt.iterations);
    }
    fputc(']', json);
  }
  fputs("},", json);
}

static void print_timed_columns(void) {
  PRINT("#\n"
        "#                                                                 out-of-place (+ per-iteration)                                in-place (+ per-iteration)\n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%% \n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%%)     (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%%) \n");
}
