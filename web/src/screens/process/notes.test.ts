/* What must be known of the numbers of a process is said beside them. */
import assert from "node:assert/strict";
import test from "node:test";
import type { ComponentChildren, VNode } from "preact";
import type { ProcessCounters } from "../../api";
import { emptyFrame, take } from "./frames";
import { CountersNote } from "./notes";

/* The text of what a component without hooks draws. */
function textOf(drawn: ComponentChildren): string {
    if (drawn === null || typeof drawn !== "object")
        return String(drawn ?? "");
    return Array.isArray(drawn) ? drawn.map(textOf).join("") : textOf((drawn as VNode<{ children?: ComponentChildren }>).props.children);
}

const message = (note: string, hasEnded = false): ProcessCounters => ({
    pid: 7, name: "shop", hasEnded, isComplete: true, intervalSeconds: 1, note,
    counters: [{ displayName: "", unit: "", kind: "gauge", origin: "kernel", intervalSeconds: 1, provider: "process", name: "process.cpu.usage", time: "2026-01-01T00:00:00Z", value: 1 }],
});

test("what the controller says of the counters is shown, and that requests are of a part", () => {
    const live = emptyFrame();
    take(live, message(""));
    assert.equal(CountersNote({ live }), null);
    assert.equal(CountersNote({ live: null }), null);
    take(live, message("more than 20 histograms (max_histograms): the rest is not reported"));
    assert.match(textOf(CountersNote({ live })), /more than 20 histograms \(max_histograms\): the rest is not reported\. .*requests.* part only/);
    take(live, message("no values from the runtime for 9 s: stopped, stuck, or short of CPU"));
    assert.match(textOf(CountersNote({ live })), /no values from the runtime for 9 s: stopped, stuck, or short of CPU\.$/);
    take(live, message("", true));
    assert.match(textOf(CountersNote({ live })), /no values/); // of what is shown then
});
