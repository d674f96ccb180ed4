/* Minimal forwarder of packets between two hosts, the baseline of crossfade live: two network namespaces with a TUN
 * device each, and for each direction a thread that reads packets from one device and writes them to the other.
 *
 * forward FAR NEAR [MTU [large | US]]: runs the shell command FAR at 10.77.0.1 and NEAR at 10.77.0.2, and ends with NEAR.
 * With large the hosts leave segmentation to the devices, which forward GSO segments whole. With US the thread holds each packet
 * for US microseconds, one packet at a time, for pings: it sleeps until 0.1 ms before the end, then busy-waits. Needs root.
 * cc -O2 -pthread -o forward forward.c
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int tun[2], space[2], large;
static long held_us;

static void fail(const char *what) {
    perror(what);
    exit(125);
}

static void make_host(int number, const char *mtu) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    char command[256];
    if (unshare(CLONE_NEWNET)) fail("unshare");
    if ((space[number] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0) fail("namespace");
    if ((tun[number] = open("/dev/net/tun", O_RDWR | O_CLOEXEC)) < 0) fail("/dev/net/tun");
    strcpy(request.ifr_name, "tun0");
    if (large) request.ifr_flags |= IFF_VNET_HDR;
    if (ioctl(tun[number], TUNSETIFF, &request)) fail("TUNSETIFF");
    if (large && ioctl(tun[number], TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)) fail("TUNSETOFFLOAD");
    snprintf(command, sizeof command,
             "ip link set lo up && ip addr add 10.77.0.%d/24 dev tun0 && ip link set tun0 mtu %s txqueuelen 10000 up",
             number + 1, mtu);
    if (system(command)) fail("ip");
}

static long long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void hold(void) {
    long long until = now_ns() + held_us * 1000, wake = until - 100000;
    struct timespec time = {wake / 1000000000LL, wake % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL)) continue;
    while (now_ns() < until) continue;
}

static void *pass(void *from) {
    int way = *(int *)from;
    char packet[65536 + 10]; /* 10 bytes: struct virtio_net_hdr */
    ssize_t bytes;
    prctl(PR_SET_TIMERSLACK, 1);
    while ((bytes = read(tun[way], packet, sizeof packet)) > 0) {
        if (held_us) hold();
        if (write(tun[1 - way], packet, bytes) < 0) continue; /* drop a packet that the host refuses */
    }
    return NULL;
}

static pid_t start(int host, const char *command) {
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (setns(space[host], CLONE_NEWNET)) fail("setns");
        execl("/bin/sh", "sh", "-c", command, NULL);
        fail("sh");
    }
    return child;
}

int main(int count, char **words) {
    static int ways[2] = {0, 1};
    pthread_t threads[2];
    int status;
    if (count < 3 || count > 5) return 2;
    large = count == 5 && strcmp(words[4], "large") == 0;
    held_us = count == 5 && !large ? atol(words[4]) : 0;
    for (int host = 0; host < 2; host++) make_host(host, count >= 4 ? words[3] : "1500");
    for (int way = 0; way < 2; way++)
        if (pthread_create(&threads[way], NULL, pass, &ways[way])) fail("thread");
    pid_t far = start(0, words[1]);
    usleep(300000); /* FAR listens after 0.3 s */
    pid_t near = start(1, words[2]);
    waitpid(near, &status, 0);
    kill(-far, SIGTERM);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
