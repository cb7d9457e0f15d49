// Loaded before the C library of the plugin's executable: ends the process at a chosen change of a file, or refuses
// changes as a disk does that is full or read-only. Only files below the folder in LOCKSTEP_TROUBLE_FOLDER count.
//
//   LOCKSTEP_KILL_AT=N        killed around the changes: 1 before the first, 2 after it, 3 before the second, …
//   LOCKSTEP_REFUSE=FILE      while this file is there, it holds the errno that creating a file fails with
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int steps;

static int counts(const char* path) {
  const char* folder = getenv("LOCKSTEP_TROUBLE_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0 &&
         strstr(path, ".sock") == NULL;
}

static void step(void) {
  const char* at = getenv("LOCKSTEP_KILL_AT");
  if (at != NULL && atomic_fetch_add(&steps, 1) + 1 == atoi(at)) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
}

static int refused(void) {
  const char* path = getenv("LOCKSTEP_REFUSE");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return 0;
  int number = 0;
  if (fscanf(file, "%d", &number) != 1) number = 0;
  fclose(file);
  return number;
}

int rename(const char* from, const char* to) {
  int (*real)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename");
  if (!counts(to)) return real(from, to);
  step();
  const int result = real(from, to);
  step();
  return result;
}

int unlink(const char* path) {
  int (*real)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "unlink");
  if (!counts(path)) return real(path);
  const int number = refused();
  if (number == EROFS) {
    errno = number;
    return -1;
  }
  step();
  const int result = real(path);
  step();
  return result;
}

int mkostemp(char* path, int flags) {
  int (*real)(char*, int) = (int (*)(char*, int))dlsym(RTLD_NEXT, "mkostemp");
  const int number = counts(path) ? refused() : 0;
  if (number == 0) return real(path, flags);
  errno = number;
  return -1;
}
