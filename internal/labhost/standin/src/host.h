// SPDX-License-Identifier: MPL-2.0

// ---- what the host has -------------------------------------------------------------------------

static struct {
  int count;
  char model[MODEL_MAX];
  // Faults, for tests of those who look for them:
  int faulty;   // index of a GPU that corrupts its results, or -1
  int hang;     // whether the host's processes stand still as soon as they have to talk to another host
  int no_start; // whether no program can use the host's GPUs
  int throttle; // milliseconds that every fifth iteration takes longer on the host
  // Version of nccl-tests that the program is.
  char tests[32];
  // What CUDA_VISIBLE_DEVICES leaves of them, by the host's own index; none where it is not set.
  int visible[64], visible_count;
} gpus = {0, "", -1, 0, 0, 0, "2.19.6", {0}, 0};

// since says whether the program is of a version or later.
static int since(int major, int minor, int patch) {
  int a = 0, b = 0, c = 0;
  sscanf(gpus.tests, "%d.%d.%d", &a, &b, &c);
  return (a * 1000 + b) * 1000 + c >= (major * 1000 + minor) * 1000 + patch;
}

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
    if (!strcmp(line, "throttle")) gpus.throttle = atoi(value);
    if (!strcmp(line, "nccl_tests")) snprintf(gpus.tests, sizeof gpus.tests, "%s", value);
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

// As many decimals as fit into the width, two at most.
static const char *number(double value, int width, char *text) {
  for (int decimals = 2; decimals >= 0; decimals--) {
    if (snprintf(text, 32, "%.*f", decimals, value) <= width) return text;
  }
  snprintf(text, 32, "%.*e", width >= 7 ? 1 : 0, value);
  return text;
}

// Only the first process prints the table.
#define PRINT(...) do { if (world.rank == 0) printf(__VA_ARGS__); } while (0)

static int fail(int status) {
  printf(" .. %s pid %d: Test failure all_reduce_perf.c\n", world.all[world.rank].host, getpid());
  fflush(stdout);
  exit(status); // without MPI_Finalize, so that the launcher stops the other processes too
}
