/* Which counters mean what: .NET 8 tells by EventCounters, .NET 9 and later by meters, the kernel of every process. The one table of
 * it; what a process does not have is not shown. */
import { clock, inUnit } from "../../format";
import { findStills } from "./frozen";
import type { Band, Frame, Track, Value } from "./frames";

type Read = "value" | "rate" | "p50" | "p95" | "p99"; // "rate", of histograms: how many a second

interface Source {
    provider: string;
    name: string;
    tags?: Record<string, string>; // those that have these; all are summed up
    read?: Read;
    scale?: number; // to the unit of the plan
}

interface LinePlan {
    label: string;
    from: Source[]; // the first that the process has
    colour?: string;
}

export interface ChartPlan {
    id: string;
    title: string;
    unit: string;
    perSecond?: boolean;
    lines?: LinePlan[];
    by?: { tags: string[]; from: Source[]; most: number }; // or a line for each value of these tags
    note?: string;
    least?: number;
    motion?: Source[]; // while these go on, the first line cannot stand at nothing
}

export interface Line {
    label: string;
    values: Value[];
    low?: Value[]; // a band, of which `values` are the upper end
    colour?: string;
}

export interface Plotted {
    plan: ChartPlan;
    times: number[];
    lines: Line[];
    remarks: string[]; // what people must know of it
}

const RUNTIME = "System.Runtime";
const HOSTING = "Microsoft.AspNetCore.Hosting";
const meter = (name: string, tags?: Record<string, string>): Source => ({ provider: RUNTIME, name, ...(tags ? { tags } : {}) });
const event = (name: string, scale = 1): Source => ({ provider: RUNTIME, name, scale });
const kernel = (name: string, tags?: Record<string, string>): Source => ({ provider: "process", name, ...(tags ? { tags } : {}) });
const requests = (read: Read): Source => ({ provider: HOSTING, name: "http.server.request.duration", read });

const GENERATIONS: [label: string, tag: string, event: string][] = [
    ["gen 0", "gen0", "gen-0"],
    ["gen 1", "gen1", "gen-1"],
    ["gen 2", "gen2", "gen-2"],
    ["large objects", "loh", "loh"],
    ["pinned objects", "poh", "poh"],
];

const heapLines: LinePlan[] = GENERATIONS.map(([label, tag, name]) => ({
    label,
    from: [meter("dotnet.gc.last_collection.heap.size", { "gc.heap.generation": tag }), event(`${name}-size`)],
}));

const collectionLines: LinePlan[] = GENERATIONS.slice(0, 3).map(([label, tag, name]) => ({
    label,
    from: [meter("dotnet.gc.collections", { "gc.heap.generation": tag }), event(`${name}-gc-count`)],
}));

const PLANS: ChartPlan[] = [
    { id: "cpu", title: "CPU", unit: "1", note: "100 % is one CPU, all the time.", lines: [{ label: "used", from: [kernel("process.cpu.usage")] }], least: 0.1 },
    {
        id: "cpu-mode", title: "CPU by kind", unit: "1", note: "100 % is one CPU, all the time.", least: 0.1, lines: [
            { label: "program", from: [kernel("process.cpu.time", { "cpu.mode": "user" })] },
            { label: "kernel", from: [kernel("process.cpu.time", { "cpu.mode": "system" })] },
        ],
    },
    {
        id: "memory", title: "Memory", unit: "By", lines: [
            { label: "process", from: [kernel("process.memory.usage")] },
            { label: "heap, committed", from: [meter("dotnet.gc.last_collection.memory.committed_size"), event("gc-committed", 1e6)] },
            { label: "heap, used", from: [meter("dotnet.gc.last_collection.heap.size"), event("gc-heap-size", 1e6)] },
        ],
    },
    {
        id: "requests", title: "Requests", least: 1, unit: "{request}", perSecond: true, lines: [
            { label: "served", from: [requests("rate"), { provider: HOSTING, name: "requests-per-second" }] },
        ],
    },
    { id: "active", title: "Requests in progress", least: 1, unit: "{request}", lines: [{ label: "in progress", from: [{ provider: HOSTING, name: "http.server.active_requests" }, { provider: HOSTING, name: "current-requests" }] }] },
    {
        id: "latency", title: "Request time", unit: "s", note: "Over all routes; percentiles are put together from those of each route.", lines: [
            { label: "mean", from: [requests("value")] },
            { label: "p50", from: [requests("p50")] },
            { label: "p95", from: [requests("p95")] },
            { label: "p99", from: [requests("p99")] },
        ],
    },
    { id: "route-rate", title: "Requests by route", least: 1, unit: "{request}", perSecond: true, by: { tags: ["http.request.method", "http.route"], from: [requests("rate")], most: 7 } },
    { id: "status", title: "Responses by status", least: 1, unit: "{response}", perSecond: true, by: { tags: ["http.response.status_code"], from: [requests("rate")], most: 7 } },
    { id: "route-time", title: "p95 by route", unit: "s", by: { tags: ["http.request.method", "http.route"], from: [requests("p95")], most: 7 } },
    {
        id: "gc-pause", title: "Paused by the GC", unit: "1", note: "Share of time in which the program stood still.", lines: [
            { label: "paused", from: [meter("dotnet.gc.pause.time"), event("time-in-gc", 0.01)], colour: "--c2" },
        ], least: 0.01,
    },
    { id: "heap", title: "Heap by generation", unit: "By", note: "After the last collection.", lines: heapLines },
    { id: "collections", title: "Collections", least: 1, unit: "{collection}", perSecond: true, lines: collectionLines },
    { id: "allocation", title: "Allocation", unit: "By", perSecond: true, lines: [{ label: "allocated", from: [meter("dotnet.gc.heap.total_allocated"), event("alloc-rate")], colour: "--c3" }], motion: collectionLines[0]!.from },
    {
        id: "fragmentation", title: "Heap, unused between objects", unit: "By", lines: GENERATIONS.slice(0, 4).map(([label, tag]) => ({
            label, from: [meter("dotnet.gc.last_collection.heap.fragmentation.size", { "gc.heap.generation": tag })],
        })),
    },
    { id: "exceptions", title: "Exceptions", least: 1, unit: "{exception}", perSecond: true, lines: [{ label: "thrown", from: [meter("dotnet.exceptions"), event("exception-count")], colour: "--c2" }] },
    { id: "exception-types", title: "Exceptions by type", least: 1, unit: "{exception}", perSecond: true, by: { tags: ["error.type"], from: [meter("dotnet.exceptions")], most: 7 } },
    {
        id: "pool", title: "Thread pool", unit: "", least: 4, lines: [
            { label: "threads", from: [meter("dotnet.thread_pool.thread.count"), event("threadpool-thread-count")] },
            { label: "items waiting", from: [meter("dotnet.thread_pool.queue.length"), event("threadpool-queue-length")], colour: "--c2" },
        ],
    },
    { id: "pool-items", title: "Work items done", unit: "{item}", perSecond: true, lines: [{ label: "done", from: [meter("dotnet.thread_pool.work_item.count"), event("threadpool-completed-items-count")] }] },
    { id: "contention", title: "Lock contention", least: 1, unit: "{wait}", perSecond: true, lines: [{ label: "waits", from: [meter("dotnet.monitor.lock_contentions"), event("monitor-lock-contention-count")], colour: "--c4" }] },
    { id: "threads", title: "Threads", unit: "{thread}", lines: [{ label: "of the process", from: [kernel("process.thread.count")] }] },
];

export const plan = (id: string): ChartPlan => PLANS.find((one) => one.id === id)!;

/* --- from a plan to lines --- */

function matches(track: Track, { provider, name, tags = {} }: Source): boolean {
    return track.name === name && track.provider === provider && Object.entries(tags).every(([tag, value]) => track.tags[tag] === value);
}

function columnOf(track: Track, read: Read = "value"): Value[] | null {
    if (read === "value" || (read === "rate" && track.isRate))
        return track.values;
    return read === "rate" ? track.rates : (track.quantiles?.[read] ?? null);
}

const has = (column: Value[] | null): column is Value[] => column !== null && column.some((value) => value !== null);

function sum(columns: Value[][], scale: number, size: number): Value[] {
    const values = new Array<Value>(size).fill(null);
    for (const column of columns) {
        for (let i = 0; i < size; i++) {
            if (column[i] !== null && column[i] !== undefined)
                values[i] = (values[i] ?? 0) + column[i]! * scale;
        }
    }
    return values;
}

/* Means are put together by how many there were; percentiles by a mixture that places each value at the upper end of where it can
 * be, so that the result is never too low. With one route both are exact. What is not known how often it was counts for nothing
 * beside others. */
function mean(tracks: Track[], i: number): Value {
    let all = 0;
    let weight = 0;
    let uncounted: Value = null;
    let count = 0;
    for (const { values, counts } of tracks) {
        const value = values[i];
        if (value === null || value === undefined)
            continue;
        const share = counts?.[i] ?? null;
        count++;
        all += value * (share ?? 0);
        weight += share ?? 0;
        uncounted = share === null ? value : uncounted;
    }
    if (uncounted !== null)
        return count === 1 ? uncounted : null;
    return weight > 0 ? all / weight : null;
}

function mixture(tracks: Track[], i: number, at: number): Value {
    const parts: [value: number, weight: number][] = [];
    let all = 0;
    for (const { quantiles, counts } of tracks) {
        const often = counts?.[i];
        if (!quantiles || !often || quantiles.p50[i] === null || quantiles.p50[i] === undefined)
            continue;
        parts.push([quantiles.p50[i]!, often * 0.5], [quantiles.p95[i]!, often * 0.45], [quantiles.p99[i]!, often * 0.05]);
        all += often;
    }
    let below = 0;
    for (const [value, weight] of parts.sort((a, b) => a[0] - b[0])) {
        below += weight;
        if (below >= all * at - 1e-9)
            return value;
    }
    return null;
}

const QUANTILE = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

/* The percentile of all lies between the lowest and the highest of its parts: intervals and routes. */
function bandOf(tracks: Track[], read: keyof typeof QUANTILE, size: number): Band | null {
    const band: Band = { low: new Array<Value>(size).fill(null), high: new Array<Value>(size).fill(null) };
    for (let i = 0; i < size; i++) {
        const told = tracks.filter(({ values }) => values[i] !== null).map(({ bands }) => bands?.[read]);
        const [lows, highs] = [told.map((one) => one?.low[i] ?? null), told.map((one) => one?.high[i] ?? null)];
        if (told.length === 0 || lows.includes(null) || highs.includes(null))
            continue;
        band.low[i] = Math.min(...(lows as number[]));
        band.high[i] = Math.max(...(highs as number[]));
    }
    return has(band.high) ? band : null;
}

/* A moment without requests has no time of them, and a message may miss its second by a hair: the line goes on from the last one for a
 * while. Where nothing is known it ends. */
function carry(values: Value[], most: number, frame: Frame): Value[] {
    let last: Value = null;
    let age = 0;
    if (frame.step > 1)
        return values;
    return values.map((value, i) => {
        if (frame.gaps.has(frame.times[i]!))
            return (last = null);
        age = value === null ? age + 1 : 0;
        last = value ?? last;
        return age <= most ? last : null;
    });
}

type Column = Pick<Line, "values" | "low">;

function combine(tracks: Track[], source: Source, frame: Frame): Column | null {
    const { read = "value", scale = 1 } = source;
    const size = frame.times.length;
    if (tracks.some((track) => track.isHistogram) && read !== "rate") {
        if (read !== "value" && frame.step > 1) {
            const band = bandOf(tracks, read, size);
            return band && { values: band.high, low: band.low };
        }
        const values = Array.from({ length: size }, (_, i) => (read === "value" ? mean(tracks, i) : mixture(tracks, i, QUANTILE[read])));
        return has(values) ? { values: carry(values, 15, frame) } : null;
    }
    const columns = tracks.map((track) => columnOf(track, read)).filter(has);
    return columns.length ? { values: carry(sum(columns, scale, size), 1, frame) } : null;
}

const tracksOf = (frame: Frame, source: Source): Track[] => [...frame.tracks.values()].filter((track) => matches(track, source));

function lineOf(frame: Frame, { label, from, colour }: LinePlan): Line | null {
    for (const source of from) {
        const tracks = tracksOf(frame, source);
        const column = tracks.length ? combine(tracks, source, frame) : null;
        if (column)
            return { label, ...column, ...(colour ? { colour } : {}) };
    }
    return null;
}

function groupsOf(tracks: Track[], tags: string[]): Map<string, Track[]> {
    const groups = new Map<string, Track[]>();
    for (const track of tracks) {
        const label = tags.map((tag) => track.tags[tag]).filter(Boolean).join(" ");
        if (label)
            groups.set(label, [...(groups.get(label) ?? []), track]);
    }
    return groups;
}

const weight = (line: Line): number => line.values.reduce<number>((all, value) => all + (value ?? 0), 0);

function linesBy(frame: Frame, { tags, from, most }: NonNullable<ChartPlan["by"]>): Line[] {
    for (const source of from) {
        const groups = groupsOf(tracksOf(frame, source), tags);
        const lines = [...groups].map(([label, tracks]) => ({ label, ...(combine(tracks, source, frame) ?? { values: [] }) })).filter((line) => line.values.length);
        if (lines.length)
            return lines.map((line) => [line, weight(line)] as const).sort((a, b) => b[1] - a[1]).slice(0, most).map(([line]) => line).sort((a, b) => (a.label < b.label ? -1 : 1));
    }
    return [];
}

const BANDS = "A percentile of several intervals cannot be told exactly: it lies in its band, between the lowest and the highest of them.";
const MEANS_ONLY = "Part of this was kept by an older version: means of each interval, without counts and percentiles.";

/* A counter of the runtime that stands still while it cannot: what it says then is left out, and said. */
function leaveStillsOut(frame: Frame, one: ChartPlan, lines: Line[]): string[] {
    const [line] = lines;
    const motion = line && one.motion && lineOf(frame, { label: "", from: one.motion })?.values;
    if (!line || !motion)
        return [];
    const stills = findStills(frame, line.values, motion);
    line.values = line.values.map((value, i) => (stills.some(({ first, last }) => i >= first && i <= last) ? null : value));
    const at = (i: number) => clock(new Date(frame.times[i]! * 1000));
    const until = (last: number) => (last === frame.times.length - 1 ? "until now" : `to ${at(last)}`);
    return stills.map(({ first, last, total }) => (total === null
        ? `The runtime's count stood still from ${at(first)} ${until(last)} though it collected garbage: how much was allocated is not known.`
        : `The runtime's count stood still from ${at(first)} to ${at(last)} though it collected garbage, then told ${inUnit(total, one.unit)} at once, `
            + `${inUnit(total / Math.max(1, frame.times[last]! - frame.times[first]! + frame.spacing), one.unit, true)} over that time: left out.`));
}

/* null: the process has nothing of it. */
export function plot(frame: Frame, one: ChartPlan): Plotted | null {
    const lines = one.by ? linesBy(frame, one.by) : (one.lines ?? []).map((line) => lineOf(frame, line)).filter((line) => line !== null);
    if (lines.length === 0)
        return null;
    const sources = one.by?.from ?? (one.lines ?? []).flatMap(({ from }) => from);
    const hasMeansOnly = sources.some((source) => tracksOf(frame, source).some((track) => track.hasMeansOnly));
    const remarks = leaveStillsOut(frame, one, lines);
    if (lines.some(({ low }) => low))
        remarks.push(BANDS);
    if (hasMeansOnly)
        remarks.push(MEANS_ONLY);
    return { plan: one, times: frame.times, lines, remarks };
}

/* The one number of a plan's first line now. */
export function nowOf(frame: Frame | null, id: string): Value {
    const values = frame && plot(frame, plan(id))?.lines[0]?.values;
    return values?.[values.length - 1] ?? null;
}
