/* Loaded into a process by LD_PRELOAD: its clock of the day is ahead by CLOCK_OFFSET_MILLIS, and
   the clock by which it measures durations is slower by the factor CLOCK_SLOWDOWN. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long long SECOND = 1000000000LL;

static long long offset_millis = 0;
static long long slowdown = 1;

static void read_variable(const char *name, long long *value) {
    const char *text = getenv(name);
    if (text != NULL) {
        *value = atoll(text);
    }
}

__attribute__((constructor)) static void read_variables(void) {
    read_variable("CLOCK_OFFSET_MILLIS", &offset_millis);
    read_variable("CLOCK_SLOWDOWN", &slowdown);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result != 0) {
        return result;
    }
    long long nanos = time->tv_sec * SECOND + time->tv_nsec;
    if (clock == CLOCK_REALTIME) {
        nanos += offset_millis * 1000000LL;
    } else if (clock == CLOCK_MONOTONIC) {
        nanos /= slowdown;
    }
    time->tv_sec = nanos / SECOND;
    time->tv_nsec = nanos % SECOND;
    return result;
}
