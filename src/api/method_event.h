/* The runtime's events about methods and modules, as far as naming needs them. No state; payloads
 * are hostile. */
#ifndef SN_METHOD_EVENT_H
#define SN_METHOD_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sn_event;

#define SN_RUNTIME_PROVIDER "Microsoft-Windows-DotNETRuntime"
#define SN_RUNDOWN_PROVIDER "Microsoft-Windows-DotNETRuntimeRundown"

/* Ids of both providers: load and unload (rundown: start and end) of methods with their names;
 * modules of the runtime's provider, then of the rundown's; entry points of the runtime's. */
enum {
    SN_METHOD_143 = 143,
    SN_METHOD_144 = 144,
    SN_MODULE_152 = 152,
    SN_MODULE_153 = 153,
    SN_MODULE_154 = 154,
    SN_ENTRY_159 = 159,
};

#define SN_METHOD_JITTED 8u /* of flags; else it is precompiled */

/* UTF-16, borrowed from the event. */
struct sn_utf16 {
    const uint8_t *units;
    size_t count;
};

struct sn_method_event {
    uint64_t method_id;
    uint64_t module_id; /* 0: not told */
    uint64_t start;
    uint32_t size; /* 0: not told */
    uint32_t flags;
    struct sn_utf16 type;
    struct sn_utf16 name;
    struct sn_utf16 signature;
};

/* False when it is too short. */
bool sn_method_event_read(const struct sn_event *event, struct sn_method_event *ret_method);
bool sn_entry_event_read(const struct sn_event *event, struct sn_method_event *ret_method);
bool sn_module_event_read(const struct sn_event *event, uint64_t *ret_id,
                          struct sn_utf16 *ret_path);

/* Appends the payload of a rundown's event 144, version 1, for a method that none was sent for. */
void sn_method_rundown(struct sn_buf *to, const struct sn_method_event *method);

#endif
