/* What code lies at an address of a process at a time: managed methods, native functions, the
 * kernel. Fed by the events of a recording (format/universal.h and the runtime's), live or from a
 * file. One thread.
 *
 * A process is a pid between its start and its exit: a pid that is used again is another process. A
 * trace of a single runtime, which has no process events, is one process whatever its pid. */
#ifndef SN_CODE_H
#define SN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_code;
struct sn_event;
struct sn_method;
struct sn_methods;
struct sn_sink;
struct sonde_error;

enum sn_place_kind {
    SN_PLACE_UNKNOWN, /* in no mapping, or nothing is known of it */
    SN_PLACE_MANAGED,
    SN_PLACE_STUB,     /* the runtime's own generated code: in a code heap, no method */
    SN_PLACE_NAMELESS, /* the same of a runtime that could not be asked: mostly methods */
    SN_PLACE_NATIVE,
    SN_PLACE_KERNEL,
};

struct sn_place {
    uint8_t kind;                   /* enum sn_place_kind */
    const struct sn_method *method; /* managed; borrowed as from sn_methods_find */
    const struct sn_methods *methods;
    const char *name;   /* native and kernel: "operator new(unsigned long)", or "" when only the
                           module is known */
    const char *module; /* native: "libcoreclr.so"; kernel: "kernel" */
    uint64_t offset;    /* native: virtual address in the module's file: "libc.so.6!0x8a3b0"; of the
                           function's start where known */
    const char *file;   /* source, or NULL */
    uint32_t line;
    bool is_settled; /* the answer is the same at any time, as far as is known */
};

struct sn_code_process {
    uint32_t index; /* of sn_code_process_at */
    uint32_t pid;
    uint32_t ns_pid;
    uint32_t parent;
    uint32_t uid;
    uint8_t kind;               /* enum sn_process_kind */
    const char *name;           /* "" when not told */
    const char *runtime;        /* version, or "" */
    const char *command;        /* redacted, or "" */
    const char *container;      /* or "" */
    uint64_t from_ns;           /* 0: before the recording */
    uint64_t until_ns;          /* UINT64_MAX: outlived it */
    struct sn_methods *methods; /* its managed code; owned by the code. NULL: none was told */
};

int sn_code_new(struct sn_code **ret_code, struct sonde_error *err);
void sn_code_free(struct sn_code *code);

static inline void sn_code_free_auto(struct sn_code **slot)
{
    sn_code_free(*slot);
}

/* The sink that fills it; subscribe it with sn_code_request, unordered. Borrows. */
struct sn_sink *sn_code_sink(struct sn_code *code);
extern const struct sn_request sn_code_request;
void sn_code_take(struct sn_code *code, const struct sn_event *event);

/* For names that no event told (live views, journals): asked when a native address has no symbol.
 * True: `ret_place` is filled in (name, module, offset), borrowed until the next call. */
typedef bool sn_code_native_fn(void *user, uint32_t pid, uint64_t address,
                               struct sn_place *ret_place);
void sn_code_set_native(struct sn_code *code, sn_code_native_fn *find, void *user);

/* Always fills in something. `is_return` : a return address, which belongs to the instruction
 * before it. */
void sn_code_find(struct sn_code *code, uint32_t pid, uint64_t address, bool is_return,
                  uint64_t time_ns, struct sn_place *ret_place);

/* Goes up whenever an answer from before may be wrong now. */
uint64_t sn_code_changes(const struct sn_code *code);

/* The process with that pid at that time; NULL: none. It stays where it is. */
const struct sn_code_process *sn_code_process(const struct sn_code *code, uint32_t pid,
                                              uint64_t time_ns);
/* Whether processes were told of: else all is of one, and what it is called is not known. */
bool sn_code_has_processes(const struct sn_code *code);
size_t sn_code_process_count(const struct sn_code *code);
const struct sn_code_process *sn_code_process_at(const struct sn_code *code, size_t index);

/* For live views: what is known of processes that had ended before then is freed. Others stay where
 * they are, but for their index. */
void sn_code_forget_before(struct sn_code *code, uint64_t time_ns);

/* Its managed code, made when there is none yet; NULL without memory. */
struct sn_methods *sn_code_methods(struct sn_code *code, uint32_t pid, uint64_t time_ns);

/* The last known name of a thread, or "". */
const char *sn_code_thread_name(const struct sn_code *code, uint32_t pid, uint64_t thread_id);

#endif
