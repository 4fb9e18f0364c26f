/* Functions that fail when their turn comes. Calls of the code under test count, and of libraries
 * that do its work; calls of the test itself, libc, cmocka, sanitizers and GnuTLS do not. A process
 * that loses memory on the way ends with NTH_LEAKED. */
#undef _FORTIFY_SOURCE /* gives functions other names */
#include "nth.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* NOLINTBEGIN(bugprone-macro-parentheses, bugprone-reserved-identifier,
 * readability-inconsistent-declaration-parameter-name): names are the libraries' own */

/* How far a path is followed: calls, and words of the stack between two of them. */
#define PATH_DEPTH  8
#define FRAME_WORDS (1 << 17)
/* Where it comes from a library. Behind its first frame a thread has that much data of its own. */
#define LIBRARY_WORDS 512

/* How long a test may wait for something after the failure. */
#define AFTERMATH_NS 1000000000u

/* The sanitizers', when they are there. The first says whether memory was lost. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
void __sanitizer_print_stack_trace(void) __attribute__((weak));

static struct nth_run *the_run;
static atomic_ullong failed_ns; /* when the call failed; 0: not yet */

/* Code whose calls count. The first is the program's, behind its test. */
static struct range {
    uintptr_t from;
    uintptr_t to;
} ranges[8];
static size_t range_count;
static struct range test_range; /* code of the test itself */

static bool is_in(const struct range *range, uintptr_t address)
{
    return address >= range->from && address < range->to;
}

static bool counts(uintptr_t caller)
{
    for (size_t i = 0; i < range_count; i++)
        if (is_in(&ranges[i], caller))
            return true;
    return false;
}

static int add_range(struct dl_phdr_info *object, size_t size, void *user)
{
    static const char *const libraries[] = {"/libsqlite3.", "/libmicrohttpd.", "/libjansson.",
                                            "/libzstd.", "/libz."};
    bool is_counted = range_count == 0; /* the program comes first */
    (void)size;
    (void)user;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        is_counted |= strstr(object->dlpi_name, libraries[i]) != NULL;
    for (size_t i = 0; is_counted && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) && range_count < 8)
            ranges[range_count++] =
                (struct range){object->dlpi_addr + part->p_vaddr,
                               object->dlpi_addr + part->p_vaddr + part->p_memsz};
    }
    return 0;
}

/* The innermost call of the program's own code on the stack of a library, which keeps no frame
 * pointers: the first word that looks like one. */
static uintptr_t find_call(const uintptr_t *frame)
{
    for (size_t i = 0; i < LIBRARY_WORDS; i++)
        if (is_in(&ranges[0], frame[i]))
            return frame[i];
    return 0;
}

/* Who calls, and by whose order, as far as that is the code under test: it keeps frame pointers. */
static uint64_t hash_path(uintptr_t caller, const uintptr_t *frame)
{
    uint64_t hash = caller;
    if (!is_in(&ranges[0], caller))
        return hash ^ find_call(frame);
    for (int depth = 0; depth < PATH_DEPTH && is_in(&ranges[0], caller); depth++) {
        const uintptr_t *outer = *(const uintptr_t *const *)frame;
        if (outer <= frame || outer - frame > FRAME_WORDS)
            break;
        frame = outer;
        caller = frame[1];
        hash = (hash ^ caller) * 0x9e3779b97f4a7c15;
    }
    return hash;
}

/* Threads may lose a path to each other: then the call is tried twice or not at all. */
static void note_path(uint64_t hash, struct nth_call call)
{
    unsigned count = the_run->path_count;
    for (unsigned i = 0; i < count; i++)
        if (the_run->hashes[i] == hash)
            return;
    if (count < NTH_PATH_LIMIT) {
        the_run->hashes[count] = hash;
        the_run->paths[count] = call;
        the_run->path_count = count + 1;
    }
}

static uint64_t now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool is_turn(enum nth_kind kind, const void *caller, const void *frame)
{
    struct nth_call call = {.kind = kind};
    bool fails = false;
    if (!the_run || !counts((uintptr_t)caller))
        return false;
    call.n = atomic_fetch_add(&the_run->calls[kind], 1) + 1;
    if (!the_run->failing.n)
        note_path(hash_path((uintptr_t)caller, frame) + kind, call);
    fails = kind == the_run->failing.kind && call.n == the_run->failing.n;
    if (fails)
        failed_ns = now_ns();
    if (fails && the_run->is_shown && __sanitizer_print_stack_trace)
        __sanitizer_print_stack_trace();
    return fails;
}

/* What a read or write says that fails; 0 for what does not fail so, such as a pipe. */
static int error_of(int fd, int error_of_file)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return 0;
    return S_ISREG(facts.st_mode) ? error_of_file : S_ISSOCK(facts.st_mode) ? ECONNRESET : 0;
}

void nth_check_leaks(void)
{
    if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) {
        (void)fflush(NULL);
        _exit(NTH_LEAKED);
    }
}

void nth_begin(struct nth_run *run, const void *test_end)
{
    (void)dl_iterate_phdr(add_range, NULL);
    /* The linker puts the test's own code first. */
    test_range = (struct range){ranges[0].from, (uintptr_t)test_end};
    ranges[0].from = test_range.to;
    the_run = run;
}

#define NEXT(name)                                            \
    ({                                                        \
        static __typeof__(&(name)) next;                      \
        if (!next)                                            \
            next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
        next;                                                 \
    })

#define IS_TURN(kind) is_turn(kind, __builtin_return_address(0), __builtin_frame_address(0))

/* A function that fails with a result and an error. */
#define FAILING(type, name, parameters, arguments, kind, error, result) \
    type name parameters                                                \
    {                                                                   \
        if (IS_TURN(kind)) {                                            \
            errno = error;                                              \
            return result;                                              \
        }                                                               \
        return NEXT(name) arguments;                                    \
    }

/* One that moves `size` bytes through `fd`, and may move fewer. */
#define MOVING(name, parameters, arguments, kind, error_of_file) \
    ssize_t name parameters                                      \
    {                                                            \
        int error = the_run ? error_of(fd, error_of_file) : 0;   \
        if (error && IS_TURN(kind)) {                            \
            errno = error;                                       \
            return -1;                                           \
        }                                                        \
        if (error && size > 1 && IS_TURN(NTH_PARTIAL))           \
            size = 1;                                            \
        return NEXT(name) arguments;                             \
    }

FAILING(void *, malloc, (size_t size), (size), NTH_MEMORY, ENOMEM, NULL)
FAILING(void *, calloc, (size_t count, size_t size), (count, size), NTH_MEMORY, ENOMEM, NULL)
FAILING(void *, realloc, (void *old, size_t size), (old, size), NTH_MEMORY, ENOMEM, NULL)
FAILING(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size),
        NTH_MEMORY, ENOMEM, NULL)
FAILING(char *, strdup, (const char *text), (text), NTH_MEMORY, ENOMEM, NULL)
FAILING(char *, strndup, (const char *text, size_t size), (text, size), NTH_MEMORY, ENOMEM, NULL)
FAILING(DIR *, opendir, (const char *path), (path), NTH_MEMORY, ENOMEM, NULL)
FAILING(FILE *, fopen, (const char *path, const char *mode), (path, mode), NTH_MEMORY, ENOMEM, NULL)

int asprintf(char **to, const char *format, ...)
{
    va_list rest;
    int size = -1;
    if (IS_TURN(NTH_MEMORY)) {
        errno = ENOMEM;
        return -1;
    }
    va_start(rest, format);
    size = vasprintf(to, format, rest);
    va_end(rest);
    return size;
}

MOVING(read, (int fd, void *to, size_t size), (fd, to, size), NTH_READ, EIO)
MOVING(pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), NTH_READ, EIO)
MOVING(pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at), NTH_READ, EIO)
MOVING(recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags), NTH_READ, EIO)
MOVING(write, (int fd, const void *from, size_t size), (fd, from, size), NTH_WRITE, ENOSPC)
MOVING(pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), NTH_WRITE,
       ENOSPC)
MOVING(pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at),
       NTH_WRITE, ENOSPC)
MOVING(send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags), NTH_WRITE,
       ENOSPC)

FAILING(int, fsync, (int fd), (fd), NTH_WRITE, ENOSPC, -1)
FAILING(int, fdatasync, (int fd), (fd), NTH_WRITE, ENOSPC, -1)

FAILING(void *, mmap, (void *at, size_t size, int rights, int flags, int fd, off_t from),
        (at, size, rights, flags, fd, from), NTH_MAPPING, ENOMEM, MAP_FAILED)
FAILING(void *, mmap64, (void *at, size_t size, int rights, int flags, int fd, off64_t from),
        (at, size, rights, flags, fd, from), NTH_MAPPING, ENOMEM, MAP_FAILED)

FAILING(int, pthread_create,
        (pthread_t *restrict thread, const pthread_attr_t *restrict how, void *(*body)(void *),
         void *restrict user),
        (thread, how, body, user), NTH_THREAD, EAGAIN, EAGAIN)

/* What a test waits for may not come any more after a failure. Its own waits, of a minute, end
 * soon. */
static void end_vain_wait(const void *caller)
{
    if (the_run && failed_ns && is_in(&test_range, (uintptr_t)caller) &&
        now_ns() > failed_ns + AFTERMATH_NS) {
        nth_check_leaks();
        _exit(1);
    }
}

int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    int most_ms = (int)(AFTERMATH_NS / 1000000);
    end_vain_wait(__builtin_return_address(0));
    if (failed_ns && is_in(&test_range, (uintptr_t)__builtin_return_address(0)) &&
        (timeout_ms < 0 || timeout_ms > most_ms))
        timeout_ms = most_ms;
    return NEXT(poll)(files, count, timeout_ms);
}

int usleep(useconds_t time_us)
{
    end_vain_wait(__builtin_return_address(0));
    return NEXT(usleep)(time_us);
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    end_vain_wait(__builtin_return_address(0));
    return NEXT(nanosleep)(time, rest);
}

/* cmocka's: a loop asserts that there is time left. */
void _assert_true(LargestIntegralType result, const char *text, const char *file, int line)
{
    end_vain_wait(__builtin_return_address(0));
    NEXT(_assert_true)(result, text, file, line);
}

/* How cmocka leaves a test that failed. What the test holds is still on the stack, so what is lost
 * now was lost by the code under test. */
_Noreturn void __longjmp_chk(jmp_buf to, int value);

_Noreturn void __longjmp_chk(jmp_buf to, int value)
{
    if (the_run)
        nth_check_leaks();
    if (gettid() != getpid()) /* cmocka would leave the main thread's test on this thread's stack */
        _exit(1);
    NEXT(__longjmp_chk)(to, value);
    abort(); /* not reached */
}
/* NOLINTEND(bugprone-macro-parentheses, bugprone-reserved-identifier,
 * readability-inconsistent-declaration-parameter-name) */
