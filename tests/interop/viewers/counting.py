"""Counts stacks from the NDJSON of a trace: shares nothing with Sonde but the events themselves."""
import bisect
import collections
import json
import math
import os

SAMPLER = "Microsoft-DotNETCore-SampleProfiler"
NO_STACK = "[no stack]"
RUNDOWN = "Microsoft-Windows-DotNETRuntimeRundown"
UNKNOWN = "?"  # the full name of code that no event tells of


def read_events(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def arguments_of(signature):
    """'instance void  (class System.String,int32)': what stands in parentheses, with them."""
    return signature[signature.find("("):] if "(" in signature else "()"


class Methods:
    """Which method an address belonged to at a time, by the events that say where methods are. Addresses are used
    again; events of a load come a little after the code may run, so the nearest in time counts if none fits."""

    def __init__(self, events):
        self.modules = {}
        self.at = {}  # start address: [[since, until, size, name]]
        for event in events:
            fields = event.get("fields", {})
            if "ModuleILPath" in fields:
                self.add_module(fields)
        for event in sorted(events, key=lambda event: event["ns"]):
            fields = event.get("fields", {})
            if "MethodNamespace" in fields and fields.get("MethodSize"):
                self.add_method(event, fields)
        self.starts = sorted(self.at)

    def add_method(self, event, fields):
        there = self.at.setdefault(fields["MethodStartAddress"], [])
        name = self.name_of(fields)
        same = [entry for entry in there if entry[3] == name and entry[1] == math.inf]
        if event["event"].startswith("MethodLoad"):
            there.append([event["ns"], math.inf, fields["MethodSize"], name])
        elif event["event"].startswith("MethodUnload") and same:
            same[-1][1] = event["ns"]
        elif not same:
            until = event["ns"] if event["event"].startswith("MethodUnload") else math.inf
            there.append([-math.inf, until, fields["MethodSize"], name])

    def add_module(self, fields):
        name = os.path.basename(fields["ModuleILPath"] or fields.get("ModuleNativePath", ""))
        stem, extension = os.path.splitext(name)
        self.modules.setdefault(fields["ModuleID"], stem if extension.lower() in (".dll", ".exe") else name)

    def name_of(self, fields):
        name = fields["MethodName"] + arguments_of(fields["MethodSignature"])
        if fields["MethodNamespace"]:
            name = fields["MethodNamespace"] + "." + name
        module = self.modules.get(fields["ModuleID"], "")
        return f"{module}!{name}" if module else name

    def find(self, address, when):
        place = bisect.bisect_right(self.starts, address)
        found = []
        for start in self.starts[max(0, place - 8):place]:
            found += [entry for entry in self.at[start] if address < start + entry[2]]
        return min(found, key=lambda entry: max(entry[0] - when, when - entry[1], 0), default=[UNKNOWN])[-1]


def stack_of(event, methods):
    """Names from the outermost to the innermost."""
    return [methods.find(int(address, 16), event["ns"]) for address in reversed(event.get("stack", []))] or [NO_STACK]


def count_samples(events, methods):
    """{(thread, stack): samples}."""
    counts = collections.Counter()
    for event in events:
        if event["provider"] == SAMPLER:
            counts[(event["tid"], ";".join(stack_of(event, methods)))] += 1
    return counts


def read_folded(text):
    """The lines of a folded file as {stack: value}."""
    counts = collections.Counter()
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        counts[stack] += int(value)
    return counts


def count_exceptions(events, methods):
    """{stack: exceptions thrown}, the ones thrown again apart, which have the flag 4."""
    counts = collections.Counter()
    for event in events:
        if event["event"] == "ExceptionThrown" and not event["fields"]["ExceptionFlags"] & 4:
            counts[";".join(stack_of(event, methods))] += 1
    return counts


def count_allocations(events, methods):
    """{stack: bytes}."""
    counts = collections.Counter()
    for event in events:
        if event["event"] == "GCAllocationTick":
            counts[";".join(stack_of(event, methods))] += event["fields"]["AllocationAmount64"]
    return counts


def count_contention(events, methods):
    """{stack: nanoseconds}, by the runtime's own measure, at the place where the wait began; to the trace's end for
    what still waits then."""
    counts, waiting = collections.Counter(), {}
    for event in sorted(events, key=lambda event: event["ns"]):
        if event["event"] == "ContentionStart":
            waiting[event["tid"]] = event
        elif event["event"] == "ContentionStop":
            start = waiting.pop(event["tid"], event)
            if not start["fields"]["ContentionFlags"]:
                counts[";".join(stack_of(start, methods))] += int(event["fields"]["DurationNs"])
    own = [event["ns"] for event in events if event["provider"] != RUNDOWN]
    rundown = [event["ns"] for event in events if event["provider"] == RUNDOWN]
    end = max(max(own), min(rundown, default=0))
    for start in waiting.values():
        if not start["fields"]["ContentionFlags"]:
            counts[";".join(stack_of(start, methods))] += end - start["ns"]
    return counts


def without_leaf(counts):
    """The same without the innermost frame: the type that was allocated or thrown."""
    sums = collections.Counter()
    for stack, value in counts.items():
        sums[stack.rpartition(";")[0] or NO_STACK] += value
    return sums
