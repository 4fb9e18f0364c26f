/* The tables of known layouts: .NET 8 and 9 as their releases lay them out on x86-64 Linux, and
 * what 10 does not tell. known_layouts.h says what is in them that 10 does not have. */
#include <stddef.h>

#include "source/memory/known_layouts.h"

#define JSON_TEXT(...) #__VA_ARGS__
#define JSON(...)      JSON_TEXT(__VA_ARGS__)

/* clang-format off */

/* --- 8 and 9 alike --- */

#define CODE_TYPES \
    "RangeSectionMap": {"TopLevelData": 0}, \
    "RangeSectionFragment": {"Next": 0, "RangeBegin": 8, "RangeEndOpen": 16, "RangeSection": 24}, \
    "RangeSection": {"RangeBegin": 0, "RangeEndOpen": 8, "Flags": 16, "R2RModule": 32, \
                     "HeapList": 40}, \
    "CodeHeapListNode": {"StartAddress": 16, "EndAddress": 24, "MapBase": 32, "HeaderMap": 40}, \
    "RealCodeHeader": {"DebugInfo": 0, "EHInfo": 8, "MethodDesc": 24, "NumUnwindInfos": 32, \
                       "UnwindInfos": 36}, \
    "ReadyToRunInfo": {"Module": 0, "ReadyToRunHeader": 16, "CompositeInfo": 40, \
                       "RuntimeFunctions": 80, "NumRuntimeFunctions": 88, "HotColdMap": 96, \
                       "NumHotColdMap": 104, "DelayLoadMethodCallThunks": 112, \
                       "EntryPointToMethodDescMap": 432}, \
    "ImageDataDirectory": {"VirtualAddress": 0, "Size": 4}, \
    "RuntimeFunction": {"!": 12, "BeginAddress": 0, "EndAddress": 4, "UnwindData": 8}, \
    "HashMap": {"Buckets": 16}, \
    "Bucket": {"!": 64, "Keys": 0, "Values": 32}

#define CODE_GLOBALS \
    "ExecutionManagerCodeRangeMapAddress": [[0], "pointer"], \
    "StubCodeBlockLast": "0xf", \
    "HashMapSlotsPerBucket": 4, \
    "HashMapValueMask": "0x7fffffffffffffff"

#define FRAME_TYPES \
    "Frame": {"Next": 8}, \
    "FramedMethodFrame": {"TransitionBlockPtr": 16}, \
    "TransitionBlock": {"!": 104, "CalleeSavedRegisters": 48, "ReturnAddress": 96}, \
    "CalleeSavedRegisters": {"Rbp": 40}, \
    "FaultingExceptionFrame": {"TargetContext": 32}, \
    "ResumableFrame": {"TargetContextPtr": 16}, \
    "HijackFrame": {"ReturnAddress": 16, "HijackArgsPtr": 32}, \
    "HijackArgs": {"!": 72, "CalleeSavedRegisters": 16}

#define MODULE_TYPES \
    "PEAssembly": {"PEImage": 8}, \
    "PEImage": {"Path": 0, "LoadedImageLayout": 120}, \
    "PEImageLayout": {"Base": 8, "Owner": 56}, \
    "SString": {"Buffer": 16}, \
    "DomainAssembly": {"Assembly": 0}, \
    "ArrayListBase": {"Count": 0, "FirstBlock": 8}, \
    "ArrayListBlock": {"Next": 0, "Size": 8, "ArrayStart": 16}, \
    "ModuleLookupMap": {"Next": 0, "TableData": 8, "Count": 16, "SupportedFlagsMask": 24}

#define MONITOR \
    "MonitorState": 0, "MonitorRecursion": 4, "MonitorOwnerOSId": 16, "SyncIndex": 28

#define SYNC_TYPES \
    "SyncTableEntry": {"!": 16, "SyncBlock": 0, "Object": 8}, \
    "SyncBlock": {MONITOR, "MonitorOwner": 8}, \
    "SyncBlockCache": {"FreeSyncTableIndex": 180, "SyncTableSize": 192}

/* Lists whose entries threads wait for: two of 8 and 9 that are alike, of running constructors and
 * of methods that are compiled, then two others. 10 has the first two the other way round. */
#define ENTRY_TYPES \
    "DeadlockAwareLock": {"HoldingThread": 0, "List": 8, "Data": 16}
#define LIST_TYPES \
    "ListLock": {"!": 160, "Flags": 136, "IsInitialized": 144}

/* --- 8 --- */

static const char threads_8[] = JSON({
"types": {
    "ThreadStore": {"FirstThreadLink": 160, "ThreadCount": 184},
    "Thread": {"State": 8, "PreemptiveGCDisabled": 12, "Frame": 16, "Id": 32,
               "AllocContext": 88, "LinkNext": 232, "OSId": 424, "GCHandle": 432,
               "ExceptionTracker": 480},
    "GCAllocContext": {"Pointer": 0, "Limit": 8},
    "ExceptionInfo": {"ThrownObject": 64}
},
"globals": {
    "ThreadStore": [[16], "pointer"], "FinalizerThread": [[17], "pointer"],
    "GCThread": [[18], "pointer"]
},
"contracts": {"Thread": 1}
});

static const char types_8[] = JSON({
"types": {
    "Object": {"m_pMethTab": 0},
    "String": {"m_StringLength": 8, "m_FirstChar": 12},
    "MethodTable": {"MTFlags": 0, "BaseSize": 4, "MTFlags2": 8, "Token": 10, "NumVirtuals": 12,
                    "ParentMethodTable": 16, "Module": 24, "EEClassOrCanonMT": 40,
                    "PerInstInfo": 48},
    "EEClass": {"MethodTable": 16, "FieldDescList": 24, "MethodDescChunk": 32,
                "FieldsArePacked": 49, "FixedSize": 50},
    "ArrayClass": {"Rank": 56},
    "FieldDesc": {"!": 16, "MethodTable": 0},
    "GenericsDictInfo": {"NumDicts": 4, "NumTypeArgs": 6},
    "TypeDesc": {"TypeAndFlags": 0},
    "ParamTypeDesc": {"TypeArg": 8},
    "TypeVarTypeDesc": {"Module": 8, "Token": 40},
    "FnPtrTypeDesc": {"NumArgs": 16, "CallConv": 20, "RetAndArgTypes": 24},
    "MethodDesc": {"Flags3AndTokenRemainder": 0, "ChunkIndex": 2, "Slot": 4, "Flags": 6},
    "MethodDescChunk": {"!": 24, "MethodTable": 0, "Next": 8, "Size": 16, "FlagsAndTokenRange": 18},
    "InstantiatedMethodDesc": {"PerInstInfo": 16, "Flags2": 24, "NumGenericArgs": 26},
    "StoredSigMethodDesc": {"Sig": 8, "cSig": 16, "ExtendedFlags": 20},
    "DynamicMethodDesc": {"MethodName": 24}
},
"globals": {
    "ObjectMethodTable": [[40], "pointer"], "StringMethodTable": [[43], "pointer"],
    "ExceptionMethodTable": [[47], "pointer"], "FreeObjectMethodTable": [[54], "pointer"],
    "MethodDescTokenRemainderBitCount": 12, "MethodDescAlignment": 8,
    "ObjectToMethodTableUnmask": 7, "ObjectHeaderSize": 8, "SyncBlockValueToObjectOffset": 4
},
"contracts": {"RuntimeTypeSystem": 1, "Object": 1}
});

static const char modules_8[] = JSON({
"types": {
    "Module": {"PEAssembly": 272, "Flags": 280, "Assembly": 296,
               "TypeDefToMethodTableMap": 752, "MethodDefToDescMap": 784,
               "FieldDefToDescMap": 816, "DynamicMetadata": 1688},
    "DynamicMetadata": {"Size": 0, "Buffer": 16},
    "Assembly": {"Module": 24},
    "AppDomain": {"DomainAssemblyList": 2544},
    MODULE_TYPES
},
"globals": {"AppDomain": [[21], "pointer"], "SystemDomain": [[22], "pointer"]},
"contracts": {"Loader": 1, "EcmaMetadata": 1}
});

static const char code_8[] = JSON({
"types": {"Module": {"ReadyToRunInfo": 1152}, CODE_TYPES},
"globals": {CODE_GLOBALS},
"contracts": {"ExecutionManager": 1}
});

static const char frames_8[] = JSON({
"types": {
    "InlinedCallFrame": {"CallSiteSP": 32, "CallerReturnAddress": 40, "CalleeSavedFP": 48},
    FRAME_TYPES
},
"contracts": {"StackWalk": 1}
});

static const char sync_blocks_8[] = JSON({
"types": {SYNC_TYPES},
"globals": {"SyncTableEntries": [[80], "pointer"], "SyncBlockCache": [[81], "pointer"]}
});

static const char constructors_8[] = JSON({
"types": {
    "Thread": {"BlockingLock": 80, "LockEntry": 48},
    "AppDomain": {"ListLocks": 1032, "ClassInitLock": 1032},
    LIST_TYPES, ENTRY_TYPES
},
"globals": {"AppDomain": [[21], "pointer"]}
});

/* --- 9 --- */

static const char types_9[] = JSON({
"types": {
    "EEClass": {"FieldDescList": 24, "MethodDescChunk": 32, "NumInstanceFields": 50,
                "NumStaticFields": 54},
    "FieldDesc": {"!": 16, "MethodTable": 0},
    "GenericsDictInfo": {"NumDicts": 4}
}
});

static const char modules_9[] = JSON({
"types": {
    "Module": {"PEAssembly": 280},
    "Assembly": {"Module": 16},
    "AppDomain": {"DomainAssemblyList": 1824},
    MODULE_TYPES
},
"globals": {"SystemDomain": [[22], "pointer"]}
});

static const char code_9[] = JSON({
"types": {"Module": {"ReadyToRunInfo": 984}, CODE_TYPES},
"globals": {CODE_GLOBALS},
"contracts": {"ExecutionManager": 1}
});

static const char frames_9[] = JSON({
"types": {
    "InlinedCallFrame": {"CallSiteSP": 24, "CallerReturnAddress": 32, "CalleeSavedFP": 40},
    FRAME_TYPES
},
"contracts": {"StackWalk": 1}
});

static const char sync_blocks_9[] = JSON({
"types": {SYNC_TYPES},
"globals": {"SyncTableEntries": [[82], "pointer"], "SyncBlockCache": [[83], "pointer"]}
});

static const char constructors_9[] = JSON({
"types": {
    "Thread": {"BlockingLock": 24},
    "AppDomain": {"ListLocks": 888, "ClassInitLock": 888},
    LIST_TYPES, ENTRY_TYPES
}
});

/* --- 10 --- */

static const char sync_blocks_10[] = JSON({
"types": {
    "SyncTableEntry": {"Object": 8},
    "SyncBlock": {MONITOR, "MonitorOwnerId": 8},
    "SyncBlockCache": {"FreeSyncTableIndex": 108, "SyncTableSize": 120}
},
"globals": {"SyncTableEntries": [[78], "pointer"], "SyncBlockCache": [[79], "pointer"]}
});

static const char constructors_10[] = JSON({
"types": {
    "Thread": {"BlockingLock": 24},
    "AppDomain": {"ListLocks": 0, "ClassInitLock": 88},
    "ListLock": {"!": 88, "Flags": 64, "IsInitialized": 72},
    ENTRY_TYPES
}
});

static const char code_10[] = JSON({
"types": {"ReadyToRunInfo": {"Module": 0}, "RealCodeHeader": {"DebugInfo": 0}}
});

static const char types_10[] = JSON({
"types": {"FieldDesc": {"!": 16, "MethodTable": 0}}
});

/* clang-format on */

/* In the order of the runtime's list of classes. */
#define FRAMES_BEFORE                                                                   \
    "DebuggerClassInitMarkFrame", "DebuggerSecurityCodeMarkFrame", "DebuggerExitFrame", \
        "DebuggerU2MCatchHandlerFrame", "FaultingExceptionFrame", "FuncEvalFrame",      \
        "HelperMethodFrame", "HelperMethodFrame_1OBJ", "HelperMethodFrame_2OBJ",        \
        "HelperMethodFrame_3OBJ", "HelperMethodFrame_PROTECTOBJ", "HijackFrame",        \
        "InlinedCallFrame"
#define FRAMES_BEHIND                                                                              \
    "PInvokeCalliFrame", "PrestubMethodFrame", "ProtectByRefsFrame", "ProtectValueClassFrame",     \
        "ResumableFrame", "RedirectedThreadFrame", "StubDispatchFrame", "CallCountingHelperFrame", \
        "ExternalMethodFrame", "DynamicHelperFrame", "ExceptionFilterFrame", NULL

static const char *const frame_names_8[] = {FRAMES_BEFORE, "MulticastFrame", FRAMES_BEHIND};
static const char *const frame_names_9[] = {FRAMES_BEFORE, FRAMES_BEHIND};

static const struct sn_known_layout layouts[] = {
    {.major = 8,
     .groups = {threads_8, types_8, modules_8, code_8, frames_8, sync_blocks_8, constructors_8},
     .first_frame = 123,
     .frames = frame_names_8},
    {.major = 9,
     .groups = {NULL, types_9, modules_9, code_9, frames_9, sync_blocks_9, constructors_9},
     .first_frame = 125,
     .frames = frame_names_9},
    {.major = 10, .groups = {NULL, types_10, NULL, code_10, NULL, sync_blocks_10, constructors_10}},
};

const struct sn_known_layout *sn_known_layout_of(uint32_t major)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
        if (layouts[i].major == major)
            return &layouts[i];
    }
    return NULL;
}
