#include "convert/perf_script.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define PERIOD_MAX    INT32_MAX /* readers take no more */

/* Names are free, lines and the brackets around a module are not; and readers take "+0x1f" at the
 * end of a name for an offset and drop it, though it may be all that the name is. */
static void put_clean(struct sn_buf *to, const char *text, const char *forbidden)
{
    for (; *text; text++) {
        bool is_bad = (unsigned char)*text < ' ' || *text == 127 || strchr(forbidden, *text) ||
                      strncmp(text, "+0x", 3) == 0;
        sn_buf_u8(to, is_bad ? '_' : (uint8_t)*text);
    }
}

static void put_command(struct sn_buf *to, const char *command)
{
    put_clean(to, *command ? command : "unknown", "");
}

/* "dotnet  1234/1240 [001]  5123.000123456: " */
static void put_head(struct sn_buf *to, const struct sn_perf_script_event *event)
{
    put_command(to, event->command);
    sn_buf_format(to, " %" PRIu32 "/%" PRIu64 " [%03" PRIu32 "] %" PRIu64 ".%09" PRIu64 ": ",
                  event->pid, event->thread_id, event->cpu == UINT32_MAX ? 0 : event->cpu,
                  event->time_ns / NS_PER_SECOND, event->time_ns % NS_PER_SECOND);
}

void sn_perf_script_sample(struct sn_buf *to, const struct sn_perf_script_event *event,
                           uint64_t period_ns)
{
    put_head(to, event);
    sn_buf_format(to, "%" PRIu64 " cpu-clock: \n",
                  period_ns < PERIOD_MAX ? period_ns : (uint64_t)PERIOD_MAX);
}

static void put_switch(struct sn_buf *to, const struct sn_perf_script_event *event, char state,
                       const char *next, uint64_t next_thread)
{
    put_head(to, event);
    sn_buf_text(to, "1 sched:sched_switch: prev_comm=");
    put_command(to, event->command);
    sn_buf_format(to, " prev_pid=%" PRIu64 " prev_prio=120 prev_state=%c ==> next_comm=",
                  event->thread_id, state);
    put_command(to, next);
    sn_buf_format(to, " next_pid=%" PRIu64 " next_prio=120\n", next_thread);
}

void sn_perf_script_leave(struct sn_buf *to, const struct sn_perf_script_event *event, char state)
{
    put_switch(to, event, state, "swapper", 0);
}

void sn_perf_script_return(struct sn_buf *to, const struct sn_perf_script_event *event)
{
    put_switch(to, event, 'R', event->command, event->thread_id);
}

void sn_perf_script_frame(struct sn_buf *to, uint64_t address, const char *symbol,
                          const char *module)
{
    sn_buf_format(to, "\t%16" PRIx64 " ", address);
    put_clean(to, symbol, "");
    sn_buf_text(to, " (");
    put_clean(to, module, "()");
    sn_buf_text(to, ")\n");
}

void sn_perf_script_end(struct sn_buf *to)
{
    sn_buf_u8(to, '\n');
}
