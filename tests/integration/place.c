/* A native program for tests of where programs live. Each way ends with its standard input.
 *
 *   place burn               computes in place_compute
 *   place map FILE           the same in FILE, a copy of this program, mapped as the loader would
 * map it place children N ARGV... starts ARGV N times, one after another, and prints how often that
 * went well place twice PID A B MS   the first process of a pid namespace: programs A and B, one
 * after another, both with this pid, for so many milliseconds each */
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20000000u

/* Needs nothing but its own code: it runs wherever that is mapped. */
__attribute__((noinline)) static uint64_t place_compute(uint64_t state, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

typedef uint64_t (*compute_fn)(uint64_t, unsigned);

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int burn(compute_fn compute)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    volatile uint64_t state = 88172645463325252;
    printf("ready pid=%d\n", (int)getpid());
    fflush(stdout);
    while (poll(&input, 1, 0) == 0)
        state = compute(state, ROUNDS);
    return 0;
}

/* Where the code segment with an address is: in memory and in the file. */
struct segment {
    uintptr_t address;
    uintptr_t start;
    size_t offset;
    size_t size;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *user)
{
    struct segment *segment = user;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + head->p_vaddr;
        if (head->p_type != PT_LOAD || segment->address - start >= head->p_memsz)
            continue;
        segment->start = start;
        segment->offset = head->p_offset;
        segment->size = head->p_filesz;
        return 1;
    }
    return 0;
}

static int burn_in(const char *path)
{
    struct segment own = {.address = (uintptr_t)place_compute};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !dl_iterate_phdr(find_segment, &own))
        return fail(path);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = own.offset % page;
    uint8_t *code = mmap(NULL, own.size + before, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
                         (off_t)(own.offset - before));
    close(fd);
    if (code == MAP_FAILED)
        return fail(path);
    return burn((compute_fn)(code + before + (own.address - own.start)));
}

static pid_t start(char **argv)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(argv[0], argv);
    _exit(127);
}

static int run_children(unsigned count, char **argv)
{
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++) {
        int status = 1;
        pid_t child = start(argv);
        if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
            good++;
    }
    printf("children=%u\n", good);
    return 0;
}

/* The kernel gives the number after the one that was given last. */
static int run_as(const char *pid_text, char *program, int ms)
{
    char *argv[] = {program, "burn", NULL};
    int status = 0;
    FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
    if (!last || fprintf(last, "%d", number(pid_text) - 1) < 0 || fclose(last) != 0)
        return fail("ns_last_pid");
    pid_t child = start(argv);
    if (child != number(pid_text))
        return fail("another pid");
    usleep((useconds_t)ms * 1000);
    kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child ? 0 : fail("waitpid");
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "burn") == 0)
        return burn(place_compute);
    if (strcmp(way, "map") == 0 && argc == 3)
        return burn_in(argv[2]);
    if (strcmp(way, "children") == 0 && argc > 3)
        return run_children((unsigned)number(argv[2]), argv + 3);
    if (strcmp(way, "twice") == 0 && argc == 6)
        return run_as(argv[2], argv[3], number(argv[5])) ||
               run_as(argv[2], argv[4], number(argv[5]));
    fprintf(stderr, "usage: place burn | map FILE | children N ARGV... | twice PID A B MS\n");
    return 2;
}
