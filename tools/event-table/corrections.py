"""What the compiled manifests do not say, or say otherwise than the runtime acts. Each row has its reason."""

from compiled_manifest import Event, Field

RUNTIME = "Microsoft-Windows-DotNETRuntime"
RUNDOWN = "Microsoft-Windows-DotNETRuntimeRundown"
STRESS = "Microsoft-Windows-DotNETRuntimeStress"
PRIVATE = "Microsoft-Windows-DotNETRuntimePrivate"
SAMPLER = "Microsoft-DotNETCore-SampleProfiler"
EVENTPIPE = "Microsoft-DotNETCore-EventPipe"

# A compiled manifest has names of tasks and opcodes, not of events. Most opcodes are named like their
# event; these events are not, and NativeRuntimeEventSource does not have them either.
NAMES = {
    (RUNTIME, 61): "ThreadPoolEnqueue",  # opcode Enqueue: the task alone tells whose
    (RUNTIME, 62): "ThreadPoolDequeue",  # likewise
    (RUNDOWN, 0): "CLRStackWalkDCStart",  # the opcode is that of the runtime's own CLRStackWalk
    (RUNDOWN, 187): "RuntimeInformationDCStart",  # opcode Start
    (RUNDOWN, 280): "TieredCompilationSettingsDCStart",  # opcode SettingsDCStart
    (STRESS, 0): "StressLogEvent",  # opcode Start
    (STRESS, 1): "CLRStackWalkStress",  # the opcode is that of the runtime's own CLRStackWalk
    (PRIVATE, 84): "LdSysBases",  # the opcode spells it out
    (PRIVATE, 85): "LdSysBasesEnd",  # likewise
    (PRIVATE, 151): "CLRStackWalkPrivate",  # the opcode is that of the runtime's own CLRStackWalk
    (PRIVATE, 188): "NgenBindEvent",  # opcode NgenBind
    (PRIVATE, 193): "CCWRefCountChangeAnsi",  # shares its opcode with 200
    (PRIVATE, 194): "PrvSetGCHandle",  # the opcode is that of the runtime provider's event
    (PRIVATE, 195): "PrvDestroyGCHandle",  # likewise
    (PRIVATE, 196): "FusionMessageEvent",  # opcode FusionMessage
    (PRIVATE, 197): "FusionErrorCodeEvent",  # opcode FusionErrorCode
    (PRIVATE, 201): "MulticoreJit",  # opcode Common
    (PRIVATE, 202): "MulticoreJitMethodCodeReturned",  # opcode MethodCodeReturned
}

# Arrays whose real count is another field's value.
COUNT_FIELDS = {
    # The manifest declares two frames; the runtime writes FrameCount of them.
    (RUNTIME, 82): ("Stack", "FrameCount"),
    (RUNDOWN, 0): ("Stack", "FrameCount"),
    (STRESS, 1): ("Stack", "FrameCount"),
    (PRIVATE, 151): ("Stack", "FrameCount"),
}

# The collector hands these structs over as they lie in memory, with the compiler's padding (that of
# 64-bit pointers): (array, field that the padding precedes, its type).
PADDING = {
    (RUNTIME, 208): ("Values", "TotalRefs", "U32"),  # 32 bytes each where the manifest adds up to 28
    (RUNTIME, 209): ("Values", "Count", "U16"),  # 16 bytes each where the manifest adds up to 14
}


def added(name, event_id, version, level, *fields):
    return Event(event_id, version, level, 0, 0, "", "", [Field(n, t) for t, n in fields], name)


# Providers that EventPipe itself implements, which no manifest describes.
EVENTS = {
    # The sampler's metadata has no fields; the payload is one word.
    SAMPLER: [added("ThreadSample", 0, 0, 4, ("U32", "Type"))],
    # Written when a trace ends.
    EVENTPIPE: [added("ProcessInfo", 1, 1, 0, ("STRING", "CommandLine"), ("STRING", "OSInformation"),
                      ("STRING", "ArchInformation"))],
}

# Names that tools accept for a keyword beside the manifest's.
KEYWORD_ALIASES = {"gcheapcollect": "managedheapcollect"}  # dotnet-trace's word
