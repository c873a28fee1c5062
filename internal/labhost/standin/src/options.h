// SPDX-License-Identifier: MPL-2.0

// ---- options -----------------------------------------------------------------------------------

static struct {
  int threads, gpus, factor, iterations, warmup, check, op, type, blocking;
  int timed, skip; // -I, -K
  double min, max, step;
  const char *json;
} opt = {1, 1, 1, 20, 1, 1, SUM, FLOAT, 0, 0, 0, 32 << 20, 32 << 20, 1 << 20, NULL};
enum { ALL = -1 };

static const struct option long_options[] = {
    {"nthreads", required_argument, 0, 't'},  {"ngpus", required_argument, 0, 'g'},
    {"minbytes", required_argument, 0, 'b'},  {"maxbytes", required_argument, 0, 'e'},
    {"stepbytes", required_argument, 0, 'i'}, {"stepfactor", required_argument, 0, 'f'},
    {"iters", required_argument, 0, 'n'},     {"warmup_iters", required_argument, 0, 'w'},
    {"check", required_argument, 0, 'c'},     {"op", required_argument, 0, 'o'},
    {"datatype", required_argument, 0, 'd'},  {"output_file", required_argument, 0, 'J'},
    {"blocking", required_argument, 0, 'z'},  {"help", no_argument, 0, 'h'},
    {"per_iter_timing", required_argument, 0, 'I'}, {"per_iter_skip", required_argument, 0, 'K'},
    {0, 0, 0, 0}};

// is_later says whether an option is of a later version than the program is.
static int is_later(int option) {
  return (option == 'I' && !since(2, 19, 2)) || (option == 'K' && !since(2, 19, 6));
}

static void usage(void) {
  printf("USAGE: all_reduce_perf \n"
         "\t[-t,--nthreads <num threads>] \n\t[-g,--ngpus <gpus per thread>] \n"
         "\t[-b,--minbytes <min size in bytes>] \n\t[-e,--maxbytes <max size in bytes>] \n"
         "\t[-i,--stepbytes <increment size>] \n\t[-f,--stepfactor <increment factor>] \n"
         "\t[-n,--iters <iteration count>] \n\t[-w,--warmup_iters <warmup iteration count>] \n"
         "\t[-c,--check <check iteration count>] \n\t[-o,--op <sum/prod/min/max/avg/all>] \n"
         "\t[-d,--datatype <nccltype/all>] \n\t[-z,--blocking <0/1/2%s>] \n"
         "\t[-J,--output_file <file> write output to filepath, if accessible. Infer type from suffix (only json supported presently.)] \n"
         "%s%s\t[-h,--help]\n"
         "This is the lab's stand-in: it has these options of nccl-tests and no others.\n",
         since(2, 19, 2) ? "/3" : "", since(2, 19, 2) ? "\t[-I,--per_iter_timing <0/1>] \n" : "",
         since(2, 19, 6) ? "\t[-K,--per_iter_skip <count>] \n" : "");
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
  while ((c = getopt_long(argc, argv, "t:g:b:e:i:f:n:w:c:o:d:J:z:I:K:h", long_options, NULL)) != -1) {
    if (is_later(c)) {
      fprintf(stderr, "%s: invalid option -- '%c'\n", argv[0], c);
      c = '?';
    }
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
    case 'z': opt.blocking = atoi(optarg); break;
    case 'I': opt.timed = atoi(optarg); break;
    case 'K': opt.skip = atoi(optarg); break;
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
  if (opt.timed != 0 && opt.timed != 1) {
    fprintf(stderr, "per-iteration timing (-I) only supports 0=off or 1=on. Disabling.\n");
    opt.timed = 0;
  }
  if (opt.skip < 0 || opt.skip >= opt.iterations) {
    fprintf(stderr, "per-iteration skip (-K) must be between 0 and %d. Disabling.\n", opt.iterations - 1);
    opt.skip = 0;
  }
  if (opt.skip && !opt.timed) {
    fprintf(stderr, "per-iteration skip (-K) requires per-iteration timing (-I 1). Disabling.\n");
    opt.skip = 0;
  }
}
