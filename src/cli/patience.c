#include "cli/patience.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"

#define LINE_MAX_BYTES 256u

/* A signal handler can reach nothing else. */
static char line[LINE_MAX_BYTES + 32];
static size_t line_size;
static volatile sig_atomic_t seconds;

/* "\rTEXT, 12 s": put together by hand, as a handler may not format. */
static void show(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    char digits[8];
    size_t at = sizeof(digits);
    unsigned value = (unsigned)++seconds % 1000000u;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    size_t size = line_size;
    memcpy(line + size, digits + at, sizeof(digits) - at);
    size += sizeof(digits) - at;
    line[size++] = ' ';
    line[size++] = 's';
    ssize_t ignored = write(STDERR_FILENO, line, size); /* only a courtesy */
    (void)ignored;
    errno = saved;
}

void sn_patience_start(const char *text)
{
    if (!isatty(STDERR_FILENO))
        return;
    struct sn_buf safe = sn_buf_with_limit(LINE_MAX_BYTES);
    sn_buf_u8(&safe, '\r');
    sn_text_printable(&safe, text, strlen(text));
    sn_buf_text(&safe, ", ");
    if (!safe.failed) {
        memcpy(line, safe.bytes, safe.size);
        line_size = safe.size;
        seconds = 0;
        struct sigaction action = {.sa_handler = show, .sa_flags = SA_RESTART};
        struct itimerval each = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
        (void)sigaction(SIGALRM, &action, NULL);
        (void)setitimer(ITIMER_REAL, &each, NULL);
    }
    sn_buf_done(&safe);
}

void sn_patience_end(void)
{
    static const char clear[] = "\r\033[K";
    static const struct itimerval never;
    (void)setitimer(ITIMER_REAL, &never, NULL);
    if (!seconds)
        return;
    seconds = 0;
    ssize_t ignored = write(STDERR_FILENO, clear, sizeof(clear) - 1);
    (void)ignored;
}
