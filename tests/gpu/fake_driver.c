#include "fake_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_lines = 128, most_calls = 128, longest = 256 };

static char lines[most_lines][longest];
static int line_count = -1;
static struct {
  char name[64];
  int count;
} calls[most_calls];

static void read_scenario(void) {
  if (line_count >= 0) return;
  line_count = 0;
  const char* path = getenv("LOCKSTEP_FAKE_GPU");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return;
  while (line_count < most_lines && fgets(lines[line_count], longest, file) != NULL) {
    lines[line_count][strcspn(lines[line_count], "\n")] = 0;
    if (lines[line_count][0] != 0) ++line_count;
  }
  fclose(file);
}

static const char* value_of(const char* key) {
  read_scenario();
  const size_t length = strlen(key);
  for (int i = 0; i < line_count; ++i) {
    if (strncmp(lines[i], key, length) == 0 && lines[i][length] == ' ') return lines[i] + length + 1;
  }
  return NULL;
}

const char* fake_text(int gpu, const char* key, const char* otherwise) {
  char own[longest];
  snprintf(own, sizeof own, "%d.%s", gpu, key);
  const char* value = value_of(own);
  if (value == NULL) value = value_of(key);
  return value == NULL ? otherwise : value;
}

long long fake_number(int gpu, const char* key, long long otherwise) {
  const char* value = fake_text(gpu, key, NULL);
  return value == NULL ? otherwise : strtoll(value, NULL, 0);
}

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static int count_call(const char* call) {
  int count = 1;
  pthread_mutex_lock(&counting);
  for (int i = 0; i < most_calls; ++i) {
    if (calls[i].name[0] == 0) snprintf(calls[i].name, sizeof calls[i].name, "%s", call);
    if (strcmp(calls[i].name, call) != 0) continue;
    count = ++calls[i].count;
    break;
  }
  pthread_mutex_unlock(&counting);
  return count;
}

int fake_call(int gpu, const char* call) {
  read_scenario();
  char own[longest];
  snprintf(own, sizeof own, "%d.%s", gpu, call);
  const int own_count = count_call(own);
  const int any_count = count_call(call);
  for (int i = 0; i < line_count; ++i) {
    char verb[16];
    char name[128];
    int first = 0;
    int second = 0;
    const int read = sscanf(lines[i], "%15s %127s %d %d", verb, name, &first, &second);
    if (read < 2) continue;
    const int is_own = strcmp(name, own) == 0;
    if (!is_own && strcmp(name, call) != 0) continue;
    const int count = is_own ? own_count : any_count;
    if (strcmp(verb, "fail") == 0 && read >= 3 && count > (read >= 4 ? second : 0)) return first;
    if (strcmp(verb, "hang") == 0 && count > (read >= 3 ? first : 0)) {
      for (;;) pause();
    }
    if (strcmp(verb, "crash") == 0) abort();
  }
  return 0;
}

void fake_uuid(int gpu, char* to) {
  sprintf(to, "%s", fake_text(gpu, "uuid", ""));
  if (to[0] == 0) sprintf(to, "GPU-fake-%d", gpu);
}

int fake_visible(int* gpus, int most) {
  const int all = (int)fake_number(-1, "gpus", 1);
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  int count = 0;
  if (visible == NULL) {
    for (int i = 0; i < all && count < most; ++i) gpus[count++] = i;
    return count;
  }
  char list[1024];
  snprintf(list, sizeof list, "%s", visible);
  for (char* word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    for (int i = 0; i < all && count < most; ++i) {
      char uuid[96];
      fake_uuid(i, uuid);
      if (strcmp(uuid, word) == 0) gpus[count++] = i;
    }
  }
  return count;
}

void fake_log_lines(void) {
  read_scenario();
  for (int i = 0; i < line_count; ++i) {
    char path[128];
    int length = 0;
    if (sscanf(lines[i], "log %127s %n", path, &length) < 1 || length == 0) continue;
    FILE* file = fopen(path, "a");
    if (file == NULL) continue;
    fprintf(file, "%s\n", lines[i] + length);
    fclose(file);
  }
}

void fake_reset(void) {
  line_count = -1;
  memset(calls, 0, sizeof calls);
}

int fake_count(const char* name) { return count_call(name) - 1; }
