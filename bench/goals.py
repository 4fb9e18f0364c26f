"""What was asked for, by section, table and row: see bench/page.py, which says "reached" or "missed".

These are the goals as they were set. What was measured never changes one.

  "N times"   N times less than the other tool needs, or N times more than it does
  "<= N"      no more than that
"""

GOALS = {
    ("ps", "wall ms"): "20 times",
    ("ps", "CPU ms"): "30 times",
    ("ps", "peak resident KB"): "15 times",
    ("collect", "tool CPU s per M events"): "3 times",
    ("collect", "peak resident KB"): "20 times",
    ("two-million", "lost, .NET 9"): "<= 0",
    ("two-million", "lost, .NET 10"): "<= 0",
    ("large", "lost %"): "3 times",
    ("payload-cost", "µs of the target per event"): "3 times",
    ("decode", "44-byte payloads: headers, M events/s"): "10 times",
    ("decode", "44-byte payloads: every payload field, M events/s"): "8 times",
    ("decode", "samples with stacks: headers, M events/s"): "10 times",
    ("decode", "samples with stacks: every payload field, M events/s"): "8 times",
    ("speedscope", "wall ms"): "40 times",
    ("speedscope", "peak resident KB"): "15 times",
    ("names", "wall ms"): "10 times",
    ("names", "peak resident KB"): "5 times",
    ("install", "program, library, headers, manual pages, MB"): "<= 14",
    ("record", "peak resident KB, beside perf"): "5 times",
    ("record", "peak resident KB, beside dotnet-trace"): "15 times",
    ("record", "bytes a sample, beside perf"): "5 times",
    ("record", "stop to finished file, ms"): "<= 1000",
    ("record-cost", "extra CPU of the target, %, beside dotnet-trace"): "8 times",
    ("first-counter", "ms until it is seen"): "10 times",
    ("first-counter", "peak resident KB"): "20 times",
    ("watch", "1 process: CPU ms"): "20 times",
    ("watch", "1 process: CPU ms, the kernel's numbers too"): "20 times",
    ("watch", "1 process: peak resident KB"): "20 times",
    ("watch", "1 process: peak resident KB, the kernel's numbers too"): "20 times",
    ("watch", "50 processes: CPU ms"): "20 times",
    ("watch", "50 processes: CPU ms, the kernel's numbers too"): "20 times",
    ("watch", "50 processes: peak resident KB"): "20 times",
    ("watch", "50 processes: peak resident KB, the kernel's numbers too"): "20 times",
    ("live-decode", "CPU s per M events"): "5 times",
    ("serve-memory", "resident KB, nobody is watched"): "12 times",
    ("serve-memory", "resident KB, watching 10 processes"): "12 times",
    **{("stacks", f".NET {major}: {what}"): goal for major in (10, 9, 8)
       for what, goal in (("wall ms", "15 times"), ("CPU ms", "20 times"), ("peak resident KB", "12 times"))},
}
