"""Counts stacks from the NDJSON of a trace: shares nothing with Sonde but the events themselves."""
import bisect
import collections
import json
import math
import os

SAMPLER = "Microsoft-DotNETCore-SampleProfiler"
UNKNOWN = "?"  # the full name of code that no event tells of


def read_events(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def arguments_of(signature):
    """'instance void  (class System.String,int32)': what stands in parentheses, with them."""
    return signature[signature.find("("):] if "(" in signature else "()"


class Methods:
    """Which method an address belonged to at a time, by the events that say where methods are. Addresses are used
    again: a method that is unloaded later was there until then, otherwise what is there at the end was."""

    def __init__(self, events):
        self.modules = {}
        self.at = {}  # start address: [(until, size, name)]
        for event in events:
            fields = event.get("fields", {})
            if "ModuleILPath" in fields:
                self.add_module(fields)
        for event in events:
            fields = event.get("fields", {})
            if "MethodNamespace" in fields and fields.get("MethodSize"):
                is_unload = event["event"].startswith("MethodUnload")
                until = event["ns"] if is_unload else math.inf
                self.at.setdefault(fields["MethodStartAddress"], []).append((until, fields["MethodSize"], self.name_of(fields)))
        self.starts = sorted(self.at)

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
        for start in reversed(self.starts[max(0, place - 8):place]):
            there = [entry for entry in self.at[start] if entry[0] >= when and address < start + entry[1]]
            if there:
                return min(there, key=lambda entry: entry[0])[2]
        return UNKNOWN


def stack_of(event, methods):
    """Names from the outermost to the innermost."""
    return [methods.find(int(address, 16), event["ns"]) for address in reversed(event.get("stack", []))]


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
    """{stack: nanoseconds}, by the runtime's own measure, at the place where the wait began."""
    counts, waiting = collections.Counter(), {}
    for event in sorted(events, key=lambda event: event["ns"]):
        if event["event"] == "ContentionStart":
            waiting[event["tid"]] = event
        elif event["event"] == "ContentionStop":
            start = waiting.pop(event["tid"], event)
            if not start["fields"]["ContentionFlags"]:
                counts[";".join(stack_of(start, methods))] += int(event["fields"]["DurationNs"])
    return counts


def without_leaf(counts):
    """The same without the innermost frame: the type that was allocated or thrown."""
    sums = collections.Counter()
    for stack, value in counts.items():
        sums[stack.rpartition(";")[0]] += value
    return sums
