/* What must be known of the numbers of a process is said beside them. */
import assert from "node:assert/strict";
import test from "node:test";
import type { ComponentChildren, VNode } from "preact";
import type { HistorySeries, Process, ProcessCounters } from "../../api";
import { emptyFrame, isCut, refill, take } from "./frames";

Object.assign(globalThis, { document: { addEventListener: () => undefined, baseURI: "http://localhost/" }, location: new URL("http://localhost/") }); // what the page has when it loads
const notes = import("./notes");
const useFrame = import("./use_frame");

/* The text of what a component without hooks draws. */
function textOf(drawn: ComponentChildren): string {
    if (drawn === null || typeof drawn !== "object")
        return String(drawn ?? "");
    return Array.isArray(drawn) ? drawn.map(textOf).join("") : textOf((drawn as VNode<{ children?: ComponentChildren }>).props.children);
}

const iso = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const message = (note: string, hasEnded = false, second = 0): ProcessCounters => ({
    pid: 7, name: "shop", hasEnded, isComplete: true, intervalSeconds: 1, note,
    counters: [{ displayName: "", unit: "", kind: "gauge", origin: "kernel", intervalSeconds: 1, provider: "process", name: "process.cpu.usage", time: iso(second), value: 1 }],
});

const shop: Process = {
    pid: 7, nsPid: 7, uid: "one", name: "shop", runtime: "9.0.0", user: "", container: "", commandLine: "", architecture: "x64",
    isReachable: true, reason: "", fix: "", upSeconds: 3, rssBytes: 0, threadCount: 1,
};

test("what the controller says of the counters is shown, and that requests are of a part", async () => {
    const { CountersNote } = await notes;
    const live = emptyFrame();
    take(live, message(""));
    assert.equal(CountersNote({ process: null, live }), null);
    assert.equal(CountersNote({ process: null, live: null }), null);
    take(live, message("more than 20 histograms (--max-histograms): the rest is not reported"));
    assert.match(textOf(CountersNote({ process: null, live })), /more than 20 histograms \(--max-histograms\): the rest is not reported\. .*requests.* part only/);
    take(live, message("no values from the runtime for 9 s: stopped, stuck, or short of CPU"));
    assert.match(textOf(CountersNote({ process: null, live })), /no values from the runtime for 9 s: stopped, stuck, or short of CPU\.$/);
    assert.equal(CountersNote({ process: { ...shop, isReachable: false }, live }), null); // that is said already
    take(live, message("", true));
    assert.match(textOf(CountersNote({ process: null, live })), /no values/); // of what is shown then
});

const cpu: HistorySeries = {
    processId: 1, pid: 7, process: "shop", provider: "process", counter: "process.cpu.usage", unit: "1", tags: "", kind: "gauge",
    points: [{ time: iso(-200), value: 1 }, { time: iso(-100), value: 1 }],
};

test("a history that was cut is not shown as if it were whole", async () => {
    const { HistoryNote } = await notes;
    const { askWindow } = await useFrame;
    let isTruncated = true;
    const asked: string[] = [];
    const answer = (series: HistorySeries[]) => Object.assign(globalThis, {
        fetch: async (address: string) => {
            asked.push(address);
            return { ok: true, status: 200, json: async () => ({ series, isTruncated }) };
        },
    });
    answer([cpu]);
    const read = () => askWindow(7, { from: "-86400s", to: "", step: 360 }, null, new AbortController().signal);
    assert.match(textOf(HistoryNote({ frame: await read() })), /^The history is not shown whole: /);
    assert.equal(asked.length, 1); // what was cut is no process that lived for minutes
    isTruncated = false;
    assert.equal(HistoryNote({ frame: await read() }), null);
    answer([]);
    isTruncated = true;
    assert.match(textOf(HistoryNote({ frame: await read() })), /not shown whole/);
});

test("what is live is whole again when the times before have gone", () => {
    const live = emptyFrame();
    take(live, message(""));
    refill(live, [cpu], true);
    assert.ok(isCut(live));
    for (let second = 1; second < 300; second++)
        take(live, message("", false, second));
    assert.ok(isCut(live));
    for (let second = 300; second < 400; second++)
        take(live, message("", false, second));
    assert.ok(!isCut(live));
});
