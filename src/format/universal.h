/* The events of a machine-wide recording that are not the runtime's: processes, mappings, symbols,
 * CPU samples, switches, system calls. What goes onto the road, into the archive and out again.
 *
 * Providers Universal.System and Universal.Events are TraceEvent's: PerfView shows them.
 * Sonde.Kernel is ours; others pass over it. Every number is LEB128, every text u16 size and UTF-8.
 * In each event `pid` and `thread_id` are those of the recording side's pid namespace; process
 * events are about their pid (thread: its main one). docs/formats/archive.md. No state. */
#ifndef SN_UNIVERSAL_H
#define SN_UNIVERSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/schema.h"

struct sn_buf;
struct sn_event;

/* The order is that of the table in universal.c. Names, ids and fields stand there. */
enum sn_universal {
    /* Universal.System */
    SN_UNIVERSAL_EXISTING_PROCESS, /* numbers: namespace id; texts: name, namespace name */
    SN_UNIVERSAL_PROCESS_CREATE,   /* the same */
    SN_UNIVERSAL_PROCESS_EXIT,     /* nothing */
    SN_UNIVERSAL_MAPPING, /* id, start, end (past it), file offset, metadata id (0: none); file name
                           */
    SN_UNIVERSAL_SYMBOL,  /* id, mapping id, start, end (its last byte); name */
    SN_UNIVERSAL_MAPPING_METADATA, /* id; symbol metadata (JSON), version metadata (JSON) */
    /* Universal.Events */
    SN_UNIVERSAL_CPU,    /* weight (1); stack: kernel, then user frames, leaf first */
    SN_UNIVERSAL_SWITCH, /* ns off the CPU, of which ns it was runnable and waited for one (0: not
                            known), enum sn_off_reason, thread that woke it (0: not known). Thread
                            and time: who came back, when; stack: where it had left */
    /* Sonde.Kernel */
    SN_UNIVERSAL_PROCESS_FACTS, /* pid in its own namespace, parent, uid, start ticks, enum
                                   sn_process_kind; runtime version, command line (redacted),
                                   cgroup, container id */
    SN_UNIVERSAL_THREAD_NAME,   /* name; of the event's thread, from now on */
    SN_UNIVERSAL_THREAD_EXIT,
    SN_UNIVERSAL_SYSCALL,  /* number, duration ns, result (as unsigned 64 bits); stack: where it was
                              called; time: its end. SN_SYSCALL_IN_FLIGHT: the recording's */
    SN_UNIVERSAL_THROTTLE, /* cpu, ns without samples */
    SN_UNIVERSAL_LINE, /* mapping id, address, line; file: source of one address of native code */
    SN_UNIVERSAL_COUNT,
};

enum sn_off_reason {
    SN_OFF_UNKNOWN,
    SN_OFF_PREEMPTED, /* could have run on */
    SN_OFF_SLEEPING,  /* interruptible wait: a lock, a timer, a socket; the stack tells which */
    SN_OFF_DISK,      /* uninterruptible: storage, page faults */
    SN_OFF_STOPPED,
    SN_OFF_EXITED,
};

enum sn_process_kind {
    SN_PROCESS_NATIVE,
    SN_PROCESS_DOTNET,     /* with a runtime whose names and events we have */
    SN_PROCESS_DOTNET_OFF, /* its diagnostics port is off or out of reach */
    SN_PROCESS_AOT,        /* NativeAOT: native frames */
};

/* The result of a system call that had not come back when the recording ended. */
#define SN_SYSCALL_IN_FLIGHT (1ull << 63)

/* The name of a native function of which only the bounds are known: this and its virtual address in
 * the file, in hexadecimal. Others show it; to us it is module and offset. */
#define SN_UNIVERSAL_NAMELESS "fn+0x"

#define SN_UNIVERSAL_NUMBER_MAX 6u
#define SN_UNIVERSAL_TEXT_MAX   4u
#define SN_UNIVERSAL_TEXT_LIMIT 4000u /* longer texts are cut when encoded */

struct sn_universal_text {
    const char *bytes; /* borrows; not ended by a zero when decoded */
    size_t size;
};

/* An event's payload, decoded; as many of each as its kind has, in the order told above. */
struct sn_universal_fields {
    uint64_t numbers[SN_UNIVERSAL_NUMBER_MAX];
    struct sn_universal_text texts[SN_UNIVERSAL_TEXT_MAX];
};

static inline struct sn_universal_text sn_universal_text_of(const char *text)
{
    return (struct sn_universal_text){.bytes = text, .size = __builtin_strlen(text)};
}

/* Fills in one schema of each kind, `wanted` 0 and `index` from 0. A source owns a set of its own.
 */
void sn_universal_schemas(struct sn_schema schemas[SN_UNIVERSAL_COUNT]);

/* Which kind it is, by provider and name (or id, for Universal.System); -1: none of these. */
int sn_universal_kind(const struct sn_schema *schema);

/* Appends the payload. */
void sn_universal_encode(enum sn_universal kind, const struct sn_universal_fields *fields,
                         struct sn_buf *to);

/* False when the payload is too short or hostile. Fields that an older or foreign writer left out
 * at the end (cswitch has one number in files of others) are zero. */
bool sn_universal_decode(enum sn_universal kind, const struct sn_event *event,
                         struct sn_universal_fields *ret_fields);

/* Kernel addresses have the top bit set; the context marks inside perf's call chains (>= -4095) are
 * none. */
static inline bool sn_universal_is_kernel(uint64_t address)
{
    return (int64_t)address < 0;
}

#endif
