/* The lanes of a time line: which there are, where each lies, and what is at a point of it. No drawing. */
import type { Timeline as Told } from "../../api";
import { percent, seconds } from "../../format";

/* docs/formats/timeline-json.md */
export interface FullTimeline extends Told {
    basis?: "cpu" | "samples" | "none";
    runtime?: { pid: number; name: string } | null; // whom collections, requests and exceptions are of
    threadsLeftOut?: number;
    gcLeftOut?: number;
    requestsLeftOut?: number;
}

export type Thread = Told["threads"][number];
export type Request = Told["requests"][number] & { direction?: "served" | "sent"; failed?: boolean };
export type Collection = Told["gc"][number];

export interface Lane {
    kind: "axis" | "cpu" | "gc" | "requests" | "exceptions" | "process" | "thread";
    label: string;
    detail: string;
    top: number;
    height: number;
    thread?: Thread;
    colour?: string;
}

export interface Window {
    from: number;
    to: number;
}

const HEIGHTS = { axis: 22, cpu: 56, gc: 24, exceptions: 28, process: 24, thread: 16 };
export const REQUEST_ROW = 8;
const REQUEST_ROWS = 6;
const PROCESS_COLOURS = ["--c1", "--c3", "--c4", "--c2", "--c7", "--c5"];

export interface PackedRequest {
    request: Request;
    row: number;
}

/* Requests that overlap lie below each other; when all rows are taken, the last one holds the rest. */
export function packRequests(requests: readonly Request[]): { packed: PackedRequest[]; rows: number } {
    const ends: number[] = [];
    const packed = [...requests].sort((a, b) => a.start - b.start).map((request) => {
        let row = ends.findIndex((end) => end <= request.start);
        if (row < 0)
            row = Math.min(ends.length, REQUEST_ROWS - 1);
        ends[row] = Math.max(ends[row] ?? 0, request.end);
        return { request, row };
    });
    return { packed, rows: Math.max(1, ends.length) };
}

function most(values: readonly number[]): number {
    return values.reduce((top, value) => Math.max(top, value), 0);
}

function groups(threads: readonly Thread[]): { pid: number; process: string; cpuSeconds: number; threads: Thread[] }[] {
    const byPid = new Map<number, { pid: number; process: string; cpuSeconds: number; threads: Thread[] }>();
    for (const thread of threads) {
        const group = byPid.get(thread.pid) ?? { pid: thread.pid, process: thread.process, cpuSeconds: 0, threads: [] };
        byPid.set(thread.pid, group);
        group.threads.push(thread);
        group.cpuSeconds += thread.cpuSeconds;
    }
    return [...byPid.values()].sort((a, b) => b.cpuSeconds - a.cpuSeconds);
}

/* `threads`: how many are shown, the heaviest first. */
export function makeLanes(data: FullTimeline, requestRows: number, shown: number): { lanes: Lane[]; height: number } {
    const lanes: Lane[] = [];
    let top = 0;
    const add = (kind: Lane["kind"], label: string, detail: string, height: number, more: Partial<Lane> = {}) => {
        lanes.push({ kind, label, detail, top, height, ...more });
        top += height;
    };
    add("axis", "", "", HEIGHTS.axis);
    if (data.cpu.some((value) => value > 0))
        add("cpu", "CPU", `up to ${percent(most(data.cpu))}`, HEIGHTS.cpu);
    if (data.gc.length)
        add("gc", "Collections", data.gcLeftOut ? `longest ${data.gc.length}` : String(data.gc.length), HEIGHTS.gc);
    if (data.requests.length)
        add("requests", "Requests", data.requestsLeftOut ? `longest ${data.requests.length}` : String(data.requests.length), requestRows * REQUEST_ROW + 10);
    const thrown = data.exceptions.reduce((sum, value) => sum + value, 0);
    if (thrown)
        add("exceptions", "Exceptions", String(thrown), HEIGHTS.exceptions);
    const heaviest = [...data.threads].sort((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, shown);
    const all = groups(heaviest);
    all.forEach((group, i) => {
        const colour = PROCESS_COLOURS[i % PROCESS_COLOURS.length]!;
        add("process", group.process || `pid ${group.pid}`, seconds(group.cpuSeconds), HEIGHTS.process);
        for (const thread of group.threads)
            add("thread", thread.name || `thread ${thread.tid}`, seconds(thread.cpuSeconds), HEIGHTS.thread, { thread, colour });
    });
    return { lanes, height: top + 8 };
}

export function laneAt(lanes: readonly Lane[], y: number): Lane | null {
    return lanes.find((lane) => y >= lane.top && y < lane.top + lane.height) ?? null;
}

/* The bucket of a time, or -1. */
export function bucketAt(data: FullTimeline, at: number): number {
    const bucket = Math.floor(((at - data.from) / (data.to - data.from)) * data.buckets);
    return bucket >= 0 && bucket < data.buckets ? bucket : -1;
}

export function collectionAt(data: FullTimeline, at: number, slack: number): Collection | null {
    return data.gc.find((one) => at >= one.start - slack && at <= Math.max(one.end, one.start) + slack) ?? null;
}

export function requestAt(packed: readonly PackedRequest[], at: number, row: number, slack: number): Request | null {
    return packed.find((one) => one.row === row && at >= one.request.start - slack && at <= one.request.end + slack)?.request ?? null;
}

/* Whether all that a span has is listed here: longer lists are cut, and beyond the view there is nothing. */
export function hasAllOf(data: FullTimeline, span: Window): boolean {
    return !data.requestsLeftOut && !data.gcLeftOut && span.from >= data.from && span.to <= data.to;
}

export interface Within {
    cpu: number | null;
    collections: number;
    pauseMilliseconds: number;
    requests: number;
    exceptions: number;
}

/* What happened within a span, for the line above its flame graph. Of one that hasAllOf is true of, or of a time line of just that
 * span, whose lists say themselves how much they leave out. */
export function within(data: FullTimeline, span: Window): Within {
    const buckets = data.cpu.map((value, i) => ({ value, at: data.from + ((i + 0.5) / data.buckets) * (data.to - data.from), thrown: data.exceptions[i] ?? 0 }))
        .filter((one) => one.at >= span.from && one.at <= span.to);
    const gc = data.gc.filter((one) => one.end >= span.from && one.start <= span.to);
    return {
        cpu: buckets.length ? buckets.reduce((sum, one) => sum + one.value, 0) / buckets.length : null,
        collections: gc.length + (data.gcLeftOut ?? 0),
        pauseMilliseconds: gc.reduce((sum, one) => sum + one.pauseMilliseconds, 0),
        requests: data.requests.filter((one) => one.end >= span.from && one.start <= span.to).length + (data.requestsLeftOut ?? 0),
        exceptions: buckets.reduce((sum, one) => sum + one.thrown, 0),
    };
}
