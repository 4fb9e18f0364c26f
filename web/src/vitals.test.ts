/* The small charts of a card. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Counter, HistorySeries } from "./api";
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

/* The history of one counter, as the controller answers; of all others it knows nothing. */
function answerWith(name: string, all: Partial<HistorySeries>[]): void {
    globalThis.fetch = async (address) => {
        const counter = new URL(String(address)).searchParams.get("counter");
        const series = all.map((one) => ({ processId: 1, process: "shop", provider: "", counter, unit: "", tags: "", kind: "gauge", ...one }));
        return Response.json({ series: counter === name ? series : [] });
    };
}

const at = (second: number) => new Date(second * 1000).toISOString();

/* What the small chart of a number shows of a process whose counters came at second 9000. */
async function courseWithPast(id: string, pid: number, counter: Partial<Counter>): Promise<number[]> {
    const { loadPast, readVital, VITALS } = await import("./vitals");
    const now = { displayName: "", unit: "", kind: "gauge", origin: "meter", intervalSeconds: 1, time: at(9000), ...counter } as Counter;
    await loadPast();
    const latest = { pid, name: "shop", hasEnded: false, isComplete: true, intervalSeconds: 1, note: "", counters: [now] };
    return readVital(VITALS.find((one) => one.id === id)!, { latest })!.course.values;
}

test("a small chart has one scale before and after the page was opened", async () => {
    const counter = { provider: "System.Runtime", name: "time-in-gc", kind: "mean", value: 25 } as const;
    answerWith(counter.name, [{ pid: 8, provider: counter.provider, points: [{ time: at(8999), value: 50 }] }]);
    assert.deepEqual(await courseWithPast("gc", 8, counter), [0.5, 0.25]);
});

test("a small chart of requests shows how many there were each second, before and after the page was opened", async () => {
    const counter = { provider: "Microsoft.AspNetCore.Hosting", name: "http.server.request.duration", kind: "histogram", value: 0.2, rate: 7 } as const;
    answerWith(counter.name, [{ pid: 9, provider: counter.provider, points: [{ time: at(8999), value: 0.1, measurements: 60, seconds: 5 }] }]);
    assert.deepEqual(await courseWithPast("requests", 9, counter), [12, 7]);
});

test("a small chart does not show the process that had the pid before", async () => {
    const counter = { provider: "process", name: "process.cpu.usage", value: 1 };
    const of = (processId: number, value: number) => ({ pid: 10, processId, provider: counter.provider, points: [{ time: at(8999), value }] });
    answerWith(counter.name, [of(3, 64), of(4, 2)]);
    assert.deepEqual(await courseWithPast("cpu", 10, counter), [2, 1]);
});
