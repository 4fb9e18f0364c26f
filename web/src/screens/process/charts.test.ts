/* What charts show is what was measured: means by their counts, percentiles as bands, gaps where nothing is known; of a page that has
 * been live and of one that was loaded a moment ago. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Counter, HistoryPoint, HistorySeries, ProcessCounters } from "../../api";
import { emptyFrame, historyFrame, refill, take, type Frame } from "./frames";
import { plan, plot, type Plotted } from "./meanings";

const START = 1_700_000_000;
const HOSTING = "Microsoft.AspNetCore.Hosting";
const iso = (second: number): string => new Date((START + second) * 1000).toISOString();

function series(counter: string, kind: Counter["kind"], points: Omit<HistoryPoint, "time">[], more: Partial<HistorySeries> & { from?: number; step?: number } = {}): HistorySeries {
    const { from = 0, step = 1, ...rest } = more;
    return {
        processId: 1, pid: 7, process: "shop", provider: "process", counter, unit: "", tags: "", kind,
        points: points.map((point, i) => ({ time: iso(from + i * step), ...point })), ...rest,
    };
}

/* A second, or a step, in which so many took so long on the mean. */
function took(measurements: number, mean: number, seconds = 1): Omit<HistoryPoint, "time"> {
    return {
        value: measurements ? mean : null, measurements, sum: measurements * mean, seconds,
        ...(measurements ? { quantiles: [0.5, 0.95, 0.99].map((at, i) => ({ at, low: mean * (i + 1), high: 2 * mean * (i + 1) })) } : {}),
    };
}

const requests = (route: string, points: Omit<HistoryPoint, "time">[], more = {}): HistorySeries =>
    series("http.server.request.duration", "histogram", points, { provider: HOSTING, tags: `http.route=${route}`, unit: "s", hasMeansOnly: false, ...more });

function message(second: number, counters: Partial<Counter>[]): ProcessCounters {
    return {
        pid: 7, name: "shop", hasEnded: false, isComplete: true, intervalSeconds: 1, note: "",
        counters: counters.map((one) => ({ displayName: "", unit: "", kind: "gauge", origin: "kernel", intervalSeconds: 1, provider: "process", name: "process.cpu.usage", time: iso(second), ...one })) as Counter[],
    };
}

const lineOf = (plotted: Plotted | null, label: string) => plotted!.lines.find((one) => one.label === label)!;
const at = (frame: Frame, values: readonly (number | null)[], second: number) => values[frame.times.indexOf(START + second)];

test("a mean over routes is weighed by how often each was asked, on a page that knows nothing yet", () => {
    const frame = historyFrame([requests("/a", [took(900, 0.001)]), requests("/b", [took(100, 0.005)])], 60, null);
    const value = lineOf(plot(frame, plan("latency")), "mean").values[0]!;
    assert.ok(Math.abs(value - (900 * 0.001 + 100 * 0.005) / 1000) < 1e-12, String(value));
});

test("a mean is weighed by counts also where the intervals of two routes differ", () => {
    const frame = historyFrame([requests("/a", [took(16, 1, 1.6)]), requests("/b", [took(4, 6, 1)])], 0, null);
    assert.equal(lineOf(plot(frame, plan("latency")), "mean").values[0], 2);
});

test("a rate is over the time that was watched, also of a route that was asked late", () => {
    const frame = historyFrame([requests("/a", [took(600, 1, 60)]), requests("/b", [took(60, 1, 10)])], 60, null);
    assert.equal(lineOf(plot(frame, plan("requests")), "served").values[0], 11);
});

test("a rate is over the time that the process was watched, also where a route is new in the last second of a step", () => {
    const cpu = (counts: number[]) => series("process.cpu.usage", "gauge", counts.map((count) => ({ value: 1, count })), { step: 2520 });
    const served = (all: HistorySeries[]) => lineOf(plot(historyFrame(all, 2520, null), plan("requests")), "served").values;
    const late = { ...took(42, 1), count: 1 };
    assert.deepEqual(served([cpu([2520]), requests("/a", [late])]), [42 / 2520]);
    assert.deepEqual(served([cpu([1260]), requests("/a", [late])]), [42 / 1260]); // nobody watched in half of it
    assert.deepEqual(served([cpu([504]), requests("/a", [{ ...took(42, 1, 5), count: 1 }])]), [42 / 2520]); // each five seconds
    assert.deepEqual(served([cpu([504, 100]), requests("/a", [{ ...took(0, 0, 2520), count: 504 }, { ...took(42, 1, 5), count: 1 }], { step: 2520 })]), [0, 42 / 500]);
});

test("a percentile over a step is the band of all intervals and routes, and the chart says so", () => {
    const frame = historyFrame([requests("/a", [took(9, 1), took(0, 0)]), requests("/b", [took(1, 4), took(1, 3)])], 60, null);
    const plotted = plot(frame, plan("latency"))!;
    const line = lineOf(plotted, "p95");
    assert.deepEqual([line.low, line.values], [[2, 6], [16, 12]]);
    assert.match(plotted.remarks.join(), /band/);
});

test("without a step a percentile is a line", () => {
    const frame = historyFrame([requests("/a", [took(9, 1)])], 0, null);
    const plotted = plot(frame, plan("latency"))!;
    assert.equal(lineOf(plotted, "p50").low, undefined);
    assert.deepEqual(plotted.remarks, []);
});

test("of what an older version kept there are means, and no mean of several", () => {
    const old = { hasMeansOnly: true };
    const one = plot(historyFrame([requests("/a", [{ value: 2 }], old)], 60, null), plan("latency"))!;
    assert.deepEqual(one.lines.map(({ label, values }) => [label, values]), [["mean", [2]]]);
    assert.match(one.remarks.join(), /older version/);
    const several = historyFrame([requests("/a", [{ value: 2 }], old), requests("/b", [{ value: 4 }], old)], 60, null);
    assert.equal(plot(several, plan("latency")), null);
    assert.equal(plot(several, plan("requests")), null);
    const both = historyFrame([requests("/a", [{ value: 2 }], old), requests("/a", [took(5, 3, 60)], { from: 60 })], 60, null);
    assert.deepEqual(lineOf(plot(both, plan("latency")), "mean").values, [2, 3]);
});

test("changes of levels, which an older version kept, are not taken for levels", () => {
    const pool = (kind: Counter["kind"], value: number, from: number) => series("dotnet.thread_pool.thread.count", kind, [{ value }], { provider: "System.Runtime", from });
    const frame = historyFrame([pool("rate", 0.5, 0), pool("upDown", 12, 60), series("process.cpu.usage", "gauge", [{ value: 1 }, { value: 1 }], { step: 60 })], 60, null);
    assert.deepEqual(lineOf(plot(frame, plan("pool")), "threads").values, [null, 12]);
});

test("all charts have one time axis", () => {
    const frame = historyFrame([series("process.cpu.usage", "gauge", new Array(10).fill({ value: 1 })), requests("/a", [took(1, 1)], { from: 8 })], 0, null);
    const charts = ["cpu", "latency", "requests"].map((id) => plot(frame, plan(id))!);
    for (const chart of charts)
        assert.equal(chart.times, frame.times);
    for (const line of charts.flatMap(({ lines }) => lines))
        assert.equal(line.values.length, frame.times.length);
});

test("when nobody looked there is a gap, and no line over it", () => {
    const frame = emptyFrame();
    for (const second of [0, 1, 2, 100, 101])
        assert.equal(take(frame, message(second, [{ value: second }])), second === 100);
    const { values } = lineOf(plot(frame, plan("cpu")), "used");
    assert.equal(at(frame, values, 2), 2);
    assert.equal(at(frame, values, 3), null);
    assert.equal(at(frame, values, 100), 100);
});

test("who comes back gets what the store has of that time; where it has nothing there is a gap", () => {
    const frame = emptyFrame();
    const live = (second: number) => [{ value: second }, { provider: HOSTING, name: "http.server.request.duration", kind: "histogram" as const, value: undefined, count: 4, sum: 8, rate: 4, tags: { "http.route": "/a" }, quantiles: [{ at: 0.5, value: 2 }, { at: 0.95, value: 2 }, { at: 0.99, value: 2 }] }];
    for (const second of [0, 1, 2, 100, 101])
        take(frame, message(second, live(second)));
    const cpu = [...new Array(51).keys()].map((value) => ({ value }));
    const late = [...new Array(20).keys()].map((i) => ({ value: 80 + i }));
    refill(frame, [
        series("process.cpu.usage", "gauge", cpu), series("process.cpu.usage", "gauge", late, { from: 80 }),
        requests("/a", new Array(51).fill(took(6, 1))), requests("/seldom", [took(1, 5)], { from: 90 }),
    ]);
    const used = lineOf(plot(frame, plan("cpu")), "used").values;
    const served = lineOf(plot(frame, plan("requests")), "served").values;
    const mean = lineOf(plot(frame, plan("latency")), "mean").values;
    for (const second of [0, 30, 50, 80, 99, 101])
        assert.equal(at(frame, used, second), second);
    assert.equal(at(frame, used, 51), null);
    assert.deepEqual(frame.times.filter((time) => time > START + 51 && time < START + 80), []);
    assert.deepEqual([at(frame, served, 2), at(frame, served, 30), at(frame, mean, 2), at(frame, mean, 30)], [4, 6, 2, 1]);
    assert.equal(at(frame, mean, 51), null);
    take(frame, message(102, live(102)));
    assert.equal(at(frame, lineOf(plot(frame, plan("cpu")), "used").values, 102), 102);
    const seldom = [...frame.tracks.values()].find(({ tags }) => tags["http.route"] === "/seldom")!;
    assert.deepEqual([seldom.values.length, at(frame, seldom.values, 90)], [frame.times.length, 5]);
});

test("when the clock is set back the live frame begins anew, and does not wait until it has caught up", () => {
    const frame = emptyFrame();
    for (const second of [3600, 3601, 3599, 3602])
        take(frame, message(second, [{ value: second }]));
    assert.deepEqual(frame.times, [3600, 3601, 3602].map((second) => START + second)); // one that is late by a hair changes nothing
    for (const second of [10, 11])
        assert.equal(take(frame, message(second, [{ value: second }])), false);
    assert.deepEqual([frame.times, frame.gaps.size], [[START + 10, START + 11], 0]);
    assert.deepEqual(lineOf(plot(frame, plan("cpu")), "used").values, [10, 11]);
    refill(frame, [series("process.cpu.usage", "gauge", [{ value: 8 }, { value: 9 }], { from: 8 }), series("process.cpu.usage", "gauge", [{ value: 3602 }], { from: 3602 })]);
    assert.deepEqual(lineOf(plot(frame, plan("cpu")), "used").values, [8, 9, 10, 11]);
});

test("what a series has twice for a step is put together", () => {
    const cpu = { value: 1, count: 60, min: 0, max: 2 };
    const twice = <T>(points: T[]) => [points[0]!, points[1]!].map((point) => ({ ...point, time: iso(0) }));
    const idle = { ...took(0, 0, 60), count: 60 };
    const of = (points: Omit<HistoryPoint, "time">[]) => [{ ...requests("/a", []), points: twice(points) }];
    const usage = { ...series("process.cpu.usage", "gauge", []), points: twice([cpu, { value: 4, count: 30, min: 1, max: 5 }]) };
    assert.deepEqual(lineOf(plot(historyFrame([usage], 60, null), plan("cpu")), "used").values, [2]);
    const busy = historyFrame(of([took(90, 1, 60), took(10, 3, 20)]), 60, null);
    assert.deepEqual(lineOf(plot(busy, plan("requests")), "served").values, [100 / 80]);
    assert.deepEqual(lineOf(plot(busy, plan("latency")), "mean").values, [1.2]);
    const { low, values } = lineOf(plot(busy, plan("latency")), "p50");
    assert.deepEqual([low, values], [[1], [6]]);
    const half = historyFrame(of([took(90, 1, 60), idle]), 60, null);
    assert.deepEqual([lineOf(plot(half, plan("requests")), "served").values, lineOf(plot(half, plan("latency")), "mean").values], [[90 / 120], [1]]);
    const seconds = historyFrame([{ ...requests("/a", []), points: [{ ...took(3, 1, 0.9), time: iso(0.02) }, { ...took(6, 2, 0.9), time: iso(0.98) }] }], 0, null);
    assert.deepEqual(lineOf(plot(seconds, plan("requests")), "served").values, [5]);
});

test("a route that is not asked for a moment keeps its line, but not over a gap", () => {
    const frame = historyFrame([
        series("process.cpu.usage", "gauge", new Array(10).fill({ value: 1 })), series("process.cpu.usage", "gauge", new Array(10).fill({ value: 1 }), { from: 30 }),
        requests("/a", [took(1, 1), ...new Array(9).fill(took(0, 0))]),
    ], 0, null);
    const { values } = lineOf(plot(frame, plan("latency")), "mean");
    assert.equal(at(frame, values, 9), 1);
    assert.deepEqual([10, 30, 35].map((second) => at(frame, values, second)), [null, null, null]);
});

/* --- a counter of the runtime that stands still --- */

const runtime = { provider: "System.Runtime" };
const collections = (values: number[]) => series("dotnet.gc.collections", "rate", values.map((value) => ({ value })), { ...runtime, tags: "gc.heap.generation=gen0" });
const allocated = (values: number[]) => series("dotnet.gc.heap.total_allocated", "rate", values.map((value) => ({ value })), { ...runtime, unit: "By" });

test("allocations that the runtime does not count while it collects are left out, and said", () => {
    const values = [5e6, 5e6, 0, 0, 0, 0, 0, 0, 35e6, 5e6];
    const plotted = plot(historyFrame([allocated(values), collections(values.map(() => 20))], 0, null), plan("allocation"))!;
    assert.deepEqual(plotted.lines[0]!.values, [5e6, 5e6, null, null, null, null, null, null, null, 5e6]);
    assert.match(plotted.remarks[0]!, /stood still from .* to .* told 35 MB at once, 5 MB\/s over that time/);
    const still = plot(historyFrame([allocated(values.slice(0, 8)), collections(values.slice(0, 8).map(() => 20))], 0, null), plan("allocation"))!;
    assert.deepEqual(still.lines[0]!.values.slice(2), new Array(6).fill(null));
    assert.match(still.remarks[0]!, /until now/);
});

test("a program that allocates nothing and collects nothing allocates nothing", () => {
    const values = [5e6, 0, 0, 0, 0, 0, 0, 35e6];
    const plotted = plot(historyFrame([allocated(values), collections(values.map(() => 0))], 0, null), plan("allocation"))!;
    assert.deepEqual([plotted.lines[0]!.values, plotted.remarks], [values, []]);
});
