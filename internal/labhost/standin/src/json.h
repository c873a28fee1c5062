// SPDX-License-Identifier: MPL-2.0

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
  fprintf(json, "{\"version\":%d,", since(2, 19, 6) ? 3 : since(2, 19, 2) ? 2 : 1);
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
          "\"blocking_collectives\":\"%s\",", opt.warmup, opt.iterations, opt.check, opt.blocking ? "true" : "false");
  if (since(2, 19, 2)) fprintf(json, "\"per_iter_timing\":\"%s\",", opt.timed ? "true" : "false");
  if (since(2, 19, 6)) fprintf(json, "\"per_iter_skip\":%d,", opt.skip);
  fputs("\"parallel_init\":\"false\",\"devices\":[", json);
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
