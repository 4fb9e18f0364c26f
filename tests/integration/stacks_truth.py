"""What the tests of stacks compare sonde's answers with: the stacks that the program "mirror" publishes of itself.

What is equal: of each thread, from the method that holds it (Targets.Mirror.Hold) outwards, every frame's type and
method as the runtime's own StackTrace has them. What a frame lies inside of Hold is how the thread blocks, which the
program cannot know. Of generic code StackTrace tells the definition only: sonde's arguments are cut off here, and
looked at by a test of their own. Nothing of the program is inlined, and what the class library has inlined has no
frame in StackTrace either.

Calls into native code have a stub between, which StackTrace shows once, twice or not at all under the name of the
method that is called: such frames (extern methods, IL stubs) are left out on both sides."""
import json

HOLD = ("Targets.Mirror", "Hold")


def published(target):
    """{thread id: what it said} of a target that runs mirror."""
    said = [json.loads(line) for line in target.out.split(b"\n") if line.startswith(b"{")]
    return {each["thread"]: each for each in said}


def stacks_of(shot):
    """{thread id: (thread, frames)} of sonde's JSON."""
    return {thread["id"]: (thread, place["frames"]) for place in shot["places"] for thread in place["threads"]}


def bare(frame):
    """Type and method without generic arguments; a method made at run time has no type."""
    kind = frame.get("type", "").partition("[")[0]
    return ("" if kind == "dynamicClass" else kind, frame.get("method", "").partition("[")[0])


def expected(said):
    """The frames of a thread as it published them, from Hold outwards."""
    return [(frame["type"] or "", frame["method"]) for frame in said["frames"] if frame["method"] and not frame.get("extern")]


def externs(said):
    return {(frame["type"] or "", frame["method"]) for frame in said["frames"] if frame.get("extern")}


def found(frames, left_out=(), with_unknown=True):
    """The same of sonde's frames; what is native or a stub is left out."""
    managed = [frame for frame in frames if frame["kind"] == "managed" and (with_unknown or "method" in frame)]
    names = [bare(frame) if "method" in frame else ("", frame["name"]) for frame in managed]
    names = [name for name in names if not name[1].startswith("IL_STUB") and name not in left_out]
    return names[names.index(HOLD):] if HOLD in names else names


def differences(target, shot, with_unknown=True):
    """[(what, expected, found)] of all threads that are not shown as they see themselves."""
    stacks = stacks_of(shot)
    wrong = []
    for thread, said in published(target).items():
        truth = expected(said)
        _, frames = stacks.get(thread, (None, []))
        shown = found(frames, externs(said), with_unknown)
        if truth != shown:
            wrong.append((said["name"] or said["what"], truth, shown))
    return wrong


def describe(wrong, most=4):
    """For people: the first frames that differ."""
    lines = [f"{len(wrong)} threads are not shown as they see themselves"]
    for what, truth, shown in wrong[:most]:
        same = next((i for i, pair in enumerate(zip(truth, shown)) if pair[0] != pair[1]), min(len(truth), len(shown)))
        lines.append(f"{what}: {same} frames agree, then\n  expected {truth[same:same + 4]} (of {len(truth)})\n"
                     f"  found    {shown[same:same + 4]} (of {len(shown)})")
    return "\n".join(lines)
