/* The small charts of a card. */
import assert from "node:assert/strict";
import test from "node:test";
import { fakePage } from "./ui/fake_dom";

fakePage();

test("when the clock is set back a small chart begins anew, and does not wait until it has caught up", async () => {
    const { readVital, VITALS } = await import("./vitals");
    const read = (second: number) => readVital(VITALS[0]!, {
        latest: {
            pid: 7, name: "shop", hasEnded: false, isComplete: true, intervalSeconds: 1, note: "",
            counters: [{ displayName: "", unit: "1", kind: "gauge", origin: "kernel", intervalSeconds: 1, provider: "process", name: "process.cpu.usage", time: new Date(second * 1000).toISOString(), value: second }],
        },
    })!.course;
    for (const second of [5000, 5001, 5000, 5002])
        read(second);
    assert.deepEqual(read(5002).values, [5000, 5001, 5002]);
    read(1400);
    const { times, values } = read(1401);
    assert.deepEqual([times, values], [[1400, 1401], [1400, 1401]]);
});
