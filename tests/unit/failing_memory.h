/* Memory that runs out: requests of the calling thread are refused when it says so, those of other
 * threads never. Whoever includes this is linked so that requests come here (tests/CMakeLists.txt);
 * those of shared libraries do not.
 *
 *     for (unsigned n = 0, refused = 1; refused; n++) {
 *         memory_fails_at(n);
 *         ... what is to be tested ...
 *         refused = memory_is_back();
 *         ... what must hold ...
 *     }
 */
#ifndef SN_TEST_FAILING_MEMORY_H
#define SN_TEST_FAILING_MEMORY_H

#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* what the compiler makes of it */

static _Thread_local struct {
    bool is_armed;
    unsigned before;  /* requests that are still granted */
    unsigned at_most; /* and refused after those */
    unsigned refused;
} failing_memory;

static inline bool memory_refuses(void)
{
    if (!failing_memory.is_armed || failing_memory.refused == failing_memory.at_most)
        return false;
    if (failing_memory.before) {
        failing_memory.before--;
        return false;
    }
    failing_memory.refused++;
    return true;
}

/* The n-th request from now on is refused; 0: the first. */
static inline void memory_fails_at(unsigned n)
{
    failing_memory.is_armed = true;
    failing_memory.before = n;
    failing_memory.at_most = 1;
    failing_memory.refused = 0;
}

/* Every request is refused, after `n` of them. */
static inline void memory_ends_after(unsigned n)
{
    memory_fails_at(n);
    failing_memory.at_most = UINT32_MAX;
}

/* How many were refused. */
static inline unsigned memory_is_back(void)
{
    failing_memory.is_armed = false;
    return failing_memory.refused;
}

/* Bytes that the program has asked for and not given back; 0 where sanitizers have a heap of their
 * own. Of all threads. */
static inline size_t memory_in_use(void)
{
    return mallinfo2().uordblks;
}

void *__wrap_malloc(size_t size)
{
    return memory_refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return memory_refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *bytes, size_t size)
{
    return memory_refuses() ? NULL : __real_realloc(bytes, size);
}

void *__wrap_reallocarray(void *bytes, size_t count, size_t size)
{
    return memory_refuses() ? NULL : __real_reallocarray(bytes, count, size);
}

char *__wrap_strdup(const char *text)
{
    return memory_refuses() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return memory_refuses() ? NULL : __real_strndup(text, size);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = memory_refuses() ? -1 : vasprintf(text, format, args);
    va_end(args);
    return size;
}

int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
{
    va_list args;
    (void)flag;
    va_start(args, format);
    int size = memory_refuses() ? -1 : vasprintf(text, format, args);
    va_end(args);
    return size;
}

#endif
