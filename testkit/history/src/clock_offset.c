/* Loaded into a process by LD_PRELOAD: its clock of the day is ahead by CLOCK_OFFSET_MILLIS. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    const char *millis = getenv("CLOCK_OFFSET_MILLIS");
    if (result == 0 && clock == CLOCK_REALTIME && millis != NULL) {
        long long nanos = time->tv_nsec + atoll(millis) * 1000000LL;
        time->tv_sec += nanos / 1000000000LL;
        time->tv_nsec = nanos % 1000000000LL;
    }
    return result;
}
