/* Time to wake a sleeping thread: one thread writes a byte through a pipe to another, which writes it
 * back, N times, S microseconds apart. Prints the median wake-up time, half of the round trip, in microseconds: with both
 * threads placed by the system, and with both on one processor. For comparison it prints the median time to write to and
 * read from a pipe within one thread, without a wake-up: at once, and after 40 ms of sleep.
 *
 * wake [N [S]]: 400 times, 5000 us apart. cc -O2 -pthread -o wake wake.c
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];

static void *echo(void *none) {
    char byte;
    while (read(there[0], &byte, 1) == 1)
        if (write(back[1], &byte, 1) != 1) break;
    return none;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}

static double median(int count, int apart) {
    double *took = malloc(count * sizeof *took);
    char byte = 0;
    for (int i = 0; i < count; i++) {
        usleep(apart);
        double begin = now();
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
        took[i] = (now() - begin) / 2;
    }
    qsort(took, count, sizeof *took, compare);
    return took[count / 2];
}

static double alone(int count, int apart) {
    double *took = malloc(count * sizeof *took);
    char byte = 0;
    int own[2];
    if (pipe(own)) exit(1);
    for (int i = 0; i < count; i++) {
        if (apart) usleep(apart);
        double begin = now();
        if (write(own[1], &byte, 1) != 1 || read(own[0], &byte, 1) != 1) exit(1);
        took[i] = now() - begin;
    }
    qsort(took, count, sizeof *took, compare);
    return took[count / 2];
}

int main(int words, char **word) {
    int count = words > 1 ? atoi(word[1]) : 400, apart = words > 2 ? atoi(word[2]) : 5000;
    pthread_t thread;
    cpu_set_t one;
    if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, echo, NULL)) return 1;
    printf("%.1f", median(count, apart));
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) || pthread_setaffinity_np(thread, sizeof one, &one)) return 1;
    printf(" %.1f", median(count, apart));
    printf(" %.1f %.1f\n", alone(count, 0), alone(50, 40000));
    return 0;
}
