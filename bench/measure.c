/* Runs a command and says what it cost: wall ms, CPU ms, peak resident KB. A tiny parent, because a
 * child's peak begins with what its parent had. Usage: measure FILE COMMAND [ARG...]; the numbers
 * go to FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double to_ms(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    double start = now_ms();
    pid_t child = fork();
    if (child == 0) {
        (void)execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 2;
    FILE *out = fopen(argv[1], "w");
    if (!out)
        return 2;
    (void)fprintf(out, "%.3f %.3f %ld\n", now_ms() - start,
                  to_ms(usage.ru_utime) + to_ms(usage.ru_stime), usage.ru_maxrss);
    (void)fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
