/* What a live recording costs: the time before it stays known when the chart has forgotten it. */
import assert from "node:assert/strict";
import { test } from "node:test";

test("the load of before is kept when the chart forgets it", async () => {
    Object.assign(globalThis, { document: { addEventListener: () => undefined, baseURI: "http://localhost/" }, location: new URL("http://localhost/") }); // what the page has when it loads
    const { costOf } = await import("./cost");
    const start = 1000;
    const times = Array.from({ length: 400 }, (_, i) => start - 60 + i);
    const values = times.map((time, i) => (time < start ? 0.1 : 0.3) + (i % 2) / 1000);
    const first = costOf(times.slice(0, 100), values.slice(0, 100), start, start);
    assert.equal(first.state, "known");
    const later = costOf(times.slice(100), values.slice(100), start, start);
    assert.equal(later.state, "known");
    assert.ok(later.state === "known" && Math.abs(later.share - 0.2) < 0.01);
    assert.equal(costOf(times.slice(100), values.slice(100), start + 1, start + 1).state, "missing");
});
