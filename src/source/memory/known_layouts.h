/* What .NET 8, 9 and 10 do not tell of their structures, as small tables per major version in the
 * form of the runtime's own description. Each group of a table is proved in the very process that
 * it is to be used on, and only then added to the contract; a group that cannot be proved is left
 * out, and said by name in the runtime's remarks. What the runtime itself tells always comes first.
 *
 * What differs from .NET 10 is for those who read by the contract:
 * - code: 8 and 9 have "ExecutionManager" 1 (the nibble map is searched backwards).
 * - frames: on 8 and 9 the first word of a Frame is the address of its class's functions, so
 *   "InlinedCallFrameIdentifier" and the like are such addresses, as numbers. There is no
 *   SoftwareExceptionFrame, but HelperMethodFrame (and _1OBJ, _2OBJ, _3OBJ, _PROTECTOBJ), where the
 *   runtime's own code was called from managed code without a stub: native unwinding leads through.
 * - threads: 8 has no RuntimeThreadLocals; its GCAllocContext is in the Thread itself, at
 *   "Thread.AllocContext".
 * - types: 8 alone has "MethodTable.Token" (u16; 0xffff: too large for it), and MTFlags2 has 16
 *   bits; "MethodTable.Module" is the module that loaded it, which is not that of the definition
 *   for generic types and arrays; the counts of an EEClass are behind it, "EEClass.FixedSize" (u8)
 *   bytes from its start. old_types.c reads these. A MethodDesc has 8 bytes, no CodeData.
 * - modules: 8 has no Module.Path and no Module.Base: 8 and 9 have "PEImage.Path" (a SString, whose
 *   UTF-16 text is where "SString.Buffer" points).
 * - sync blocks, also on 10: "SyncBlock.MonitorState", "MonitorRecursion", "MonitorOwnerOSId"
 *   (u64), "SyncIndex" (the index is in the low 26 bits), and on 8 and 9 "MonitorOwner" (Thread*),
 *   on 10 "MonitorOwnerId" (u32, managed); "SyncTableEntry.Object". Global "SyncBlockCache": a
 *   pointer to it; "SyncBlockCache.FreeSyncTableIndex" (u32): entries from that on were never used
 *   and hold anything.
 * - static constructors, on all three: "Thread.BlockingLock" is the DeadlockAwareLock that a thread
 *   is about to enter, or 0; its "HoldingThread" is a Thread*, and behind it, in the entry of a
 *   ListLock, come its "List" and its "Data": of the list at "AppDomain.ClassInitLock" a
 * MethodTable whose static constructor that Thread runs. */
#ifndef SN_KNOWN_LAYOUTS_H
#define SN_KNOWN_LAYOUTS_H

#include <stddef.h>
#include <stdint.h>

struct sn_runtime_memory;
struct sonde_error;

enum sn_layout_group {
    SN_LAYOUT_THREADS,
    SN_LAYOUT_TYPES,
    SN_LAYOUT_MODULES,
    SN_LAYOUT_CODE,
    SN_LAYOUT_FRAMES,
    SN_LAYOUT_SYNC_BLOCKS,
    SN_LAYOUT_CONSTRUCTORS,
    SN_LAYOUT_GROUPS,
};

/* What is known of one major version: per group a description in JSON, or NULL. Its addresses
 * ("[[16]]") are slots of the table that the runtime exports for debuggers. */
struct sn_known_layout {
    uint32_t major;
    const char *groups[SN_LAYOUT_GROUPS];
    uint32_t first_frame; /* slot of the first of the classes of frames; 0: they are not there */
    const char *const *frames; /* their names in the order of slots, up to NULL */
};

/* NULL: nothing is known of that version. */
const struct sn_known_layout *sn_known_layout_of(uint32_t major);

/* Adds what is known of the runtime's version to its contract. Fails only for want of memory. */
int sn_known_layouts_add(struct sn_runtime_memory *runtime, struct sonde_error *err);

/* The same with a layout of the caller's. */
int sn_known_layouts_add_from(struct sn_runtime_memory *runtime,
                              const struct sn_known_layout *layout, struct sonde_error *err);

#endif
