"""Reads a file in Chrome's trace event format by its published rules, strictly, and adds up what its frames took."""
import collections
import json


def read(path):
    """The document, and {(pid, tid): [name, {stack: own nanoseconds}, {stack: own nanoseconds of the thread clock}]}."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    threads, open_frames = {}, collections.defaultdict(list)
    for event in document["traceEvents"]:
        key = event["pid"], event["tid"]
        assert event["ph"] in "MBE" and all(isinstance(number, int) for number in key), event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str), event
            if event["name"] == "thread_name":
                assert key not in threads, "a thread has one name"
                threads[key] = [event["args"]["name"], collections.Counter(), collections.Counter(), 0, 0]
            continue
        advance(threads[key], open_frames[key], event)
        if event["ph"] == "B":
            open_frames[key].append(event["name"])
        else:
            open_frames[key].pop()
    assert not any(open_frames.values()), "every frame ends"
    return document, {key: thread[:3] for key, thread in threads.items()}


def advance(thread, stack, event):
    """What passed since the thread's last event was spent in the innermost open frame."""
    at, spent = round(event["ts"] * 1000), round(event.get("tts", 0) * 1000)
    assert at >= thread[3] and spent >= thread[4], "time does not go back"
    if stack:
        thread[1][";".join(stack)] += at - thread[3]
        thread[2][";".join(stack)] += spent - thread[4]
    thread[3:] = at, spent
