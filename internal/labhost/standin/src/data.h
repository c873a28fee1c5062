// SPDX-License-Identifier: MPL-2.0

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
