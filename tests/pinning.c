// Makes blocks that pin slabs of jemalloc, and says whose blocks do (tests/test_fragmentation.py):
// pinning apart|mixed|same STATISTICS PROFILE. Prints, of each function, the bytes of its live blocks, its part in the
// free bytes of their slabs, and by how many bytes the slabs shrink when its blocks are freed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 40000, KEPT = 50 };

int mallctl(const char *name, void *old, size_t *old_bytes, void *value, size_t value_bytes);
void malloc_stats_print(void (*write)(void *, const char *), void *to, const char *options);

struct kind {
  const char *name;
  void *(*make)(void);
  void *blocks[BLOCKS];
};

// Each its own call of malloc; 320 bytes are the class of the first two
__attribute__((noinline)) static void *sparse(void) {
  void *volatile block = malloc(300);
  return block;
}
__attribute__((noinline)) static void *dense(void) {
  void *volatile block = malloc(310);
  return block;
}
__attribute__((noinline)) static void *other(void) {
  void *volatile block = malloc(1000);
  return block;
}

static struct kind kinds[] = {{"sparse", sparse, {0}}, {"dense", dense, {0}}, {"other", other, {0}}};

static void make(struct kind *kind, int first, int count) {
  for (int i = first; i < first + count; i++) {
    kind->blocks[i] = kind->make();
  }
}

// Frees all blocks but those that a generator picks, one of KEPT
static void thin(struct kind *kind) {
  unsigned state = 12345;
  for (int i = 0; i < BLOCKS; i++) {
    state = state * 1103515245u + 12345u;
    if ((state >> 8) % KEPT != 0) {
      free(kind->blocks[i]);
      kind->blocks[i] = NULL;
    }
  }
}

struct utilization {
  size_t free_blocks, blocks, slab_bytes;
};

// Its part in the free bytes of its blocks' slabs: those of a slab are split evenly between the blocks alive in it
static double part(const struct kind *kind) {
  double sum = 0;
  for (int i = 0; i < BLOCKS; i++) {
    struct utilization of = {0, 0, 0};
    size_t bytes = sizeof of;
    void *const block = kind->blocks[i];
    if (block != NULL) {
      mallctl("experimental.utilization.batch_query", &of, &bytes, (void *)&block, sizeof block);
      sum += (double)(of.slab_bytes / of.blocks * of.free_blocks) / (double)(of.blocks - of.free_blocks);
    }
  }
  return sum;
}

static size_t active(void) {
  unsigned long long epoch = 1;
  size_t bytes = 0, size = sizeof bytes;
  mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
  mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
  mallctl("stats.active", &bytes, &size, NULL, 0);
  return bytes;
}

static void put(void *file, const char *text) { fputs(text, file); }

static void report(const char *statistics, const char *profile) {
  static char buffer[1 << 16]; // none of stdio's own in the heap
  FILE *file = fopen(statistics, "w");
  setvbuf(file, buffer, _IOFBF, sizeof buffer);
  (void)active();
  malloc_stats_print(put, file, "J");
  fclose(file);
  if (mallctl("prof.dump", NULL, NULL, &profile, sizeof profile) != 0) {
    exit(3);
  }
}

int main(int count, char **words) {
  const int is_apart = strcmp(words[1], "apart") == 0, is_same = strcmp(words[1], "same") == 0;
  (void)count;
  if (is_apart) {
    make(&kinds[1], 0, BLOCKS);
    make(&kinds[0], 0, BLOCKS);
  } else {
    for (int i = 0; i < BLOCKS; i++) {
      make(&kinds[0], i, 1);
      make(&kinds[1], i, 1);
    }
  }
  make(&kinds[2], 0, BLOCKS);
  thin(&kinds[0]);
  if (is_same) {
    thin(&kinds[1]);
  }
  report(words[2], words[3]);
  double parts[3];
  for (int i = 0; i < 3; i++) {
    parts[i] = part(&kinds[i]);
  }
  for (int i = 0; i < 3; i++) {
    size_t live = 0;
    const size_t before = active();
    for (int j = 0; j < BLOCKS; j++) {
      live += kinds[i].blocks[j] != NULL;
      free(kinds[i].blocks[j]);
    }
    printf("%s %zu %.0f %zu\n", kinds[i].name, live * (i < 2 ? 320 : 1024), parts[i], before - active());
  }
  return 0;
}
