// Loaded before the C library of the plugin's executable: ends the process at a chosen change of a file, or refuses
// changes as a disk does that is full or read-only. Only files below the folder in LOCKSTEP_TROUBLE_FOLDER count, and
// of them neither sockets nor logs.
//
//   LOCKSTEP_KILL_AT=N        killed at the N-th of these moments: before and after a file is renamed, removed or synced;
//                             before, in the middle of and after a write; after a temporary file is made
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
         strstr(path, ".sock") == NULL && strstr(path, ".log") == NULL;
}

static int counts_open(int descriptor) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return counts(path);
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
  if (!counts(path)) return real(path, flags);
  const int number = refused();
  if (number != 0) {
    errno = number;
    return -1;
  }
  const int descriptor = real(path, flags);
  step();
  return descriptor;
}

ssize_t write(int descriptor, const void* content, size_t size) {
  ssize_t (*real)(int, const void*, size_t) = (ssize_t (*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  if (size < 2 || !counts_open(descriptor)) return real(descriptor, content, size);
  const int number = refused();
  if (number != 0) {
    errno = number;
    return -1;
  }
  step();
  const ssize_t half = real(descriptor, content, size / 2);
  if (half < 0) return half;
  step();
  const ssize_t rest = real(descriptor, (const char*)content + half, size - (size_t)half);
  step();
  return rest < 0 ? half : half + rest;
}

static int synced(const char* name, int descriptor) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  if (!counts_open(descriptor)) return real(descriptor);
  step();
  const int result = real(descriptor);
  step();
  return result;
}

int fsync(int descriptor) { return synced("fsync", descriptor); }
int fdatasync(int descriptor) { return synced("fdatasync", descriptor); }
