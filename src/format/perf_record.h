/* The records of a perf_event ring, decoded. Bytes in, borrowed pointers out; no state.
 *
 * Every event of ours is opened with at least SN_PERF_COMMON and sample_id_all, so that each record
 * tells its event, time, thread and CPU: samples at their front, all others at their end. */
#ifndef SN_PERF_RECORD_H
#define SN_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_error;

/* Fields of a sample (enum perf_event_sample_format), as far as they are read here. */
#define SN_PERF_IP         (1u << 0)
#define SN_PERF_TID        (1u << 1)
#define SN_PERF_TIME       (1u << 2)
#define SN_PERF_ADDR       (1u << 3)
#define SN_PERF_CPU        (1u << 7)
#define SN_PERF_PERIOD     (1u << 8)
#define SN_PERF_CALLCHAIN  (1u << 5)
#define SN_PERF_RAW        (1u << 10)
#define SN_PERF_REGS_USER  (1u << 12)
#define SN_PERF_STACK_USER (1u << 13)
#define SN_PERF_IDENTIFIER (1u << 16)

#define SN_PERF_COMMON (SN_PERF_IDENTIFIER | SN_PERF_IP | SN_PERF_TID | SN_PERF_TIME | SN_PERF_CPU)
#define SN_PERF_KNOWN                                                                   \
    (SN_PERF_COMMON | SN_PERF_ADDR | SN_PERF_PERIOD | SN_PERF_CALLCHAIN | SN_PERF_RAW | \
     SN_PERF_REGS_USER | SN_PERF_STACK_USER)

#define SN_PERF_HEADER_SIZE 8u
#define SN_PERF_REGS_MAX    8u

/* How the records of an event look: from the attributes it was opened with. */
struct sn_perf_layout {
    uint64_t sample_type; /* SN_PERF_COMMON and others of SN_PERF_KNOWN */
    uint64_t user_regs;   /* a bit for each register, at most SN_PERF_REGS_MAX */
};

enum sn_perf_type {
    SN_PERF_LOST = 2,
    SN_PERF_COMM = 3,
    SN_PERF_EXIT = 4,
    SN_PERF_THROTTLE = 5,
    SN_PERF_UNTHROTTLE = 6,
    SN_PERF_FORK = 7,
    SN_PERF_SAMPLE = 9,
    SN_PERF_MMAP2 = 10,
    SN_PERF_LOST_SAMPLES = 13,
    SN_PERF_SWITCH = 14,
    SN_PERF_SWITCH_CPU_WIDE = 15,
};

struct sn_perf_header {
    uint32_t type;
    uint16_t misc;
    uint16_t size; /* with the header */
};

struct sn_perf_sample {
    uint64_t ip;
    uint64_t period;
    const uint8_t *chain; /* chain_count unaligned words, context marks among them */
    uint64_t chain_count;
    const uint8_t *raw; /* a tracepoint's fields */
    uint32_t raw_size;
    bool has_regs;
    uint64_t regs[SN_PERF_REGS_MAX]; /* in the order of the layout's bits */
    const uint8_t *stack;            /* from the stack pointer up */
    uint64_t stack_size;             /* as much of it as is real */
};

struct sn_perf_mmap {
    uint64_t start;
    uint64_t size;
    uint64_t offset;
    uint64_t device; /* as makedev; 0 with a build id */
    uint64_t inode;
    uint8_t build_id[20];
    uint8_t build_id_size; /* 0: none told */
    uint32_t protection;
    const char *path; /* ended by a zero */
};

struct sn_perf_comm {
    bool is_exec;
    const char *name;
};

struct sn_perf_task { /* fork and exit */
    uint32_t parent_pid;
    uint32_t parent_tid;
};

struct sn_perf_switch {
    bool is_out;
    bool was_preempted; /* out, and could have run on */
    uint32_t other_pid; /* CPU_WIDE: who comes or came */
    uint32_t other_tid;
};

struct sn_perf_record {
    uint32_t type; /* of others than enum sn_perf_type only the common part is decoded */
    uint64_t id;   /* of the event */
    uint64_t time_ns;
    uint32_t pid; /* whom it is about; 0 or UINT32_MAX: nobody of our pid namespace */
    uint32_t tid;
    uint32_t cpu;
    union {
        struct sn_perf_sample sample;
        struct sn_perf_mmap mmap;
        struct sn_perf_comm comm;
        struct sn_perf_task task;
        struct sn_perf_switch swap;
        uint64_t lost; /* LOST: records, LOST_SAMPLES: samples */
    };
};

/* The header at the front of `bytes`. False: there is none, or it lies about its size (less than
 * itself, or no multiple of eight): nothing after it can be found either. */
bool sn_perf_header_decode(const uint8_t *bytes, size_t size, struct sn_perf_header *ret_header);

/* Which event a whole record is of, and when it was; false when it is too short for that. */
bool sn_perf_record_peek(const uint8_t *bytes, size_t size, uint64_t *ret_id,
                         uint64_t *ret_time_ns);

/* Decodes one whole record of an event with `layout`. SONDE_E_TRUNCATED, SONDE_E_FORMAT,
 * SONDE_E_UNSUPPORTED (a layout with fields that are not known here). */
int sn_perf_record_decode(const uint8_t *bytes, size_t size, const struct sn_perf_layout *layout,
                          struct sn_perf_record *ret_record, struct sonde_error *err);

/* Context marks stand between the addresses of a call chain. */
static inline bool sn_perf_is_mark(uint64_t address)
{
    return address >= (uint64_t)-4095;
}

#endif
