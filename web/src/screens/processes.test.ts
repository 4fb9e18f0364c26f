/* The cards of processes: what they say is of now, though the list of processes comes only when it changes. */
import assert from "node:assert/strict";
import test from "node:test";
import { h, render } from "preact";
import { act } from "preact/test-utils";
import type { Process, ProcessCounters } from "../api";
import { FakeNode, fakePage } from "../ui/fake_dom";
import { fakeTimers } from "../ui/fake_timers";

fakePage();

const shop: Process = {
    pid: 7, nsPid: 7, uid: "one", name: "shop", runtime: "9.0.0", user: "", container: "", commandLine: "", architecture: "x64",
    isReachable: true, reason: "", fix: "", upSeconds: 3, rssBytes: 0, threadCount: 12,
};

const latest: ProcessCounters = {
    pid: 7, name: "shop", hasEnded: false, isComplete: true, intervalSeconds: 1, note: "",
    counters: [{ displayName: "", unit: "{thread}", kind: "gauge", origin: "kernel", intervalSeconds: 1, provider: "process", name: "process.thread.count", time: "2026-01-01T00:00:00Z", value: 40 }],
};

test("a card counts how long the process is up, and has its threads of now", async (t) => {
    const { Facts } = await import("./processes");
    const timers = fakeTimers(t);
    const place = new FakeNode("div");
    const draw = (live?: ProcessCounters) => act(() => render(h(Facts, { process: shop, live: live && { latest: live } }), place as unknown as HTMLElement));
    await draw();
    assert.match(place.textContent, /up 3 s12 threads$/);
    await act(() => timers.tick(60_000)); // nothing came meanwhile
    assert.match(place.textContent, /up 1 min 3 s12 threads$/);
    await draw(latest);
    assert.match(place.textContent, /up 1 min 3 s40 threads$/);
    await act(() => render(null, place as unknown as HTMLElement));
});
