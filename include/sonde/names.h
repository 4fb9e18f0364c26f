/** @file
 * Names for the stacks of live events: what code lies at an address of a running process.
 *
 * A user of a hub: for each process it listens to methods as they are compiled and modules as they
 * are loaded, and has those that are there already told once. */
#ifndef SONDE_NAMES_H
#define SONDE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/event.h"
#include "sonde/hub.h"
#include "sonde/stacks.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Names of the code of some processes; opaque. One thread: the hub's. */
struct sonde_names;

/** Knows nothing yet. Borrows the hub, which must outlive it. The caller frees it. */
int sonde_names_new(struct sonde_hub *hub, struct sonde_names **ret_names, struct sonde_error *err);

/** Frees it; NULL is fine. Not from a callback. */
void sonde_names_free(struct sonde_names *names);

/** Begins to learn the names of a process; twice is once, unless it has ended meanwhile and another
 * has its pid. Does not wait: turning the hub does it. Fails as sonde_hub_add does. Not from a
 * callback. */
int sonde_names_add(struct sonde_names *names, uint32_t pid, struct sonde_error *err);

/** Whether all that was there has been told, or nothing more is to be had. Who wants its first
 * events with names adds their consumer then. */
bool sonde_names_are_ready(const struct sonde_names *names, uint32_t pid);

/** What frame `index` of the stack of an event of that process is called, the leaf first:
 * "Shop.Orders.PlaceAsync"; the address, "0x7f12a4b0", when nobody knows. Never NULL, borrowed
 * until the next call. It comes from the process: escape it for wherever it goes. */
const char *sonde_names_frame(struct sonde_names *names, uint32_t pid,
                              const struct sonde_event *event, size_t index);

/** The same of an address to return to that was kept from a stack, and of the time it was on it:
 * sonde_event_info.time_ns. Everything but file and line is filled in; texts are borrowed until the
 * next call or turn of the hub. False when nobody knows: its name is "[unknown code]" then. */
bool sonde_names_address(struct sonde_names *names, uint32_t pid, uint64_t address,
                         uint64_t time_ns, struct sonde_stack_frame *ret_frame);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
