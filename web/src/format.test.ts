/* Numbers have the unit that they were measured in, and no more digits than matter. */
import assert from "node:assert/strict";
import test from "node:test";
import { bytes, inUnit, percent, seconds, span } from "./format";

test("a counter is shown in its unit", () => {
    assert.equal(inUnit(1500, "ms"), "1.5 s");
    assert.equal(inUnit(2.5e6, "ns"), "2.5 ms");
    assert.equal(inUnit(0.25, "s"), "250 ms");
    assert.equal(inUnit(0.25, "s", true), "25 %"); // seconds each second are a share
    assert.equal(inUnit(3, "MB"), "3 MB");
    assert.equal(inUnit(2048, "By", true), "2.05 KB/s");
    assert.equal(inUnit(12, "%"), "12 %");
    assert.equal(inUnit(1, "{request}"), "1 request");
    assert.equal(inUnit(2, "{query}"), "2 queries");
    assert.equal(inUnit(Number.NaN, "s"), "–");
});

test("a number goes to the next unit before it has four digits", () => {
    assert.deepEqual([999, 1000, 999_499, 999_500, 1e6].map(bytes), ["999 B", "1 KB", "999 KB", "1 MB", "1 MB"]);
    assert.deepEqual([0, 2e-9, 2e-6, 0.002, 2, 119].map(seconds), ["0 s", "2 ns", "2 µs", "2 ms", "2 s", "119 s"]);
    assert.deepEqual([0, 59, 60, 125, 3725, 90_000].map(span), ["0 s", "59 s", "1 min", "2 min 5 s", "1 h 2 min", "1 d 1 h"]);
    assert.deepEqual([0, 0.004, 0.0955, 0.123, 1.5].map(percent), ["0 %", "0.4 %", "9.6 %", "12 %", "150 %"]);
});
