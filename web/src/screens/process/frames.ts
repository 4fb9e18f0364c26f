/* Counters over time, ready for charts: one list of times and a value or null at each, for every counter of a process. A live frame
 * grows with the stream, a history frame is what the store answered. */
import type { Counter, HistorySeries, ProcessCounters } from "../../api";
import { seriesKey } from "../../store";

export type Value = number | null;

export interface Quantiles {
    p50: Value[];
    p95: Value[];
    p99: Value[];
}

export interface Track {
    key: string;
    provider: string;
    name: string;
    displayName: string;
    unit: string;
    tags: Record<string, string>;
    isRate: boolean; // `values` are per second
    latest: Counter | null; // null: from the history only
    values: Value[]; // rates as rates, histograms by their mean
    rates: Value[] | null; // of histograms: how many a second
    quantiles: Quantiles | null;
}

export interface Frame {
    times: number[]; // whole seconds since 1970
    tracks: Map<string, Track>;
    version: number; // grows with every change: arrays grow in place
    step: number; // seconds between points
    hasEnded: boolean;
}

export const LIVE_SECONDS = 300;
const SLACK = 60;

/* Levels that the runtime declares as counters, so that they come as changes a second: their total is the level. */
const LEVELS = new Set(["dotnet.thread_pool.thread.count", "dotnet.thread_pool.queue.length"]);

export function emptyFrame(): Frame {
    return { times: [], tracks: new Map(), version: 0, step: 1, hasEnded: false };
}

export function isLevel(counter: Counter): boolean {
    return counter.kind === "rate" && LEVELS.has(counter.name);
}

/* What a chart of the counter shows now; null: nothing happened, so there is no mean. */
export function valueOf(counter: Counter): Value {
    if (isLevel(counter))
        return counter.total ?? null;
    if (counter.kind === "histogram")
        return counter.count ? (counter.sum ?? 0) / counter.count : null;
    if (counter.kind === "rate")
        return counter.rate ?? counter.value ?? null;
    return counter.value ?? null;
}

export function quantileOf(counter: Counter, at: number): Value {
    return counter.quantiles?.[at] ?? null;
}

function nulls(length: number): Value[] {
    return new Array<Value>(length).fill(null);
}

function trackOf(frame: Frame, counter: Counter): Track {
    const key = seriesKey(counter);
    const known = frame.tracks.get(key);
    if (known)
        return known;
    const size = frame.times.length;
    const isHistogram = counter.kind === "histogram";
    const made: Track = {
        key,
        provider: counter.provider,
        name: counter.name,
        displayName: counter.displayName,
        unit: counter.unit,
        tags: counter.tags ?? {},
        isRate: counter.kind === "rate" && !isLevel(counter),
        latest: counter,
        values: nulls(size),
        rates: isHistogram ? nulls(size) : null,
        quantiles: isHistogram ? { p50: nulls(size), p95: nulls(size), p99: nulls(size) } : null,
    };
    frame.tracks.set(key, made);
    return made;
}

function columnsOf(track: Track): Value[][] {
    const { values, rates, quantiles } = track;
    return [values, ...(rates ? [rates] : []), ...(quantiles ? [quantiles.p50, quantiles.p95, quantiles.p99] : [])];
}

function eachColumn(frame: Frame, change: (column: Value[]) => void): void {
    for (const track of frame.tracks.values())
        columnsOf(track).forEach(change);
}

function put(track: Track, at: number, counter: Counter): void {
    track.latest = counter;
    track.values[at] = valueOf(counter);
    if (track.rates)
        track.rates[at] = counter.rate ?? null;
    if (track.quantiles) {
        track.quantiles.p50[at] = quantileOf(counter, 0.5);
        track.quantiles.p95[at] = quantileOf(counter, 0.95);
        track.quantiles.p99[at] = quantileOf(counter, 0.99);
    }
}

function trim(frame: Frame): void {
    const first = frame.times[frame.times.length - 1]! - LIVE_SECONDS;
    const cut = frame.times.findIndex((time) => time >= first);
    if (cut < SLACK)
        return;
    frame.times.splice(0, cut);
    eachColumn(frame, (column) => column.splice(0, cut));
    for (const [key, track] of frame.tracks) { // a route that nobody asks for any more
        if (track.values.every((value) => value === null))
            frame.tracks.delete(key);
    }
}

/* One message of the stream is one column. */
export function take(frame: Frame, message: ProcessCounters): void {
    frame.hasEnded = message.hasEnded;
    const time = message.counters.reduce((latest, one) => Math.max(latest, Math.floor(Date.parse(one.time) / 1000)), 0);
    const last = frame.times[frame.times.length - 1] ?? 0;
    if (time === 0 || time < last)
        return;
    if (time > last) {
        frame.times.push(time);
        eachColumn(frame, (column) => column.push(null));
    }
    for (const counter of message.counters)
        put(trackOf(frame, counter), frame.times.length - 1, counter);
    trim(frame);
    frame.version++;
}

/* --- history --- */

/* Tags as the store writes them ("a=b,c=d"), in the order that seriesKey has. */
export function parseTags(text: string): Record<string, string> {
    const tags: Record<string, string> = {};
    let name = "";
    for (const part of text === "" ? [] : text.split(",")) {
        const cut = part.indexOf("=");
        if (cut < 0) { // a comma within a value
            tags[name] = `${tags[name] ?? ""},${part}`;
            continue;
        }
        name = part.slice(0, cut);
        tags[name] = part.slice(cut + 1);
    }
    return tags;
}

/* Several processes may have had the pid: the latest one counts. */
function latestProcess(series: HistorySeries[]): HistorySeries[] {
    const id = series.reduce((most, one) => Math.max(most, one.processId), 0);
    return series.filter((one) => one.processId === id && !LEVELS.has(one.counter));
}

const secondOf = (time: string): number => Math.floor(Date.parse(time) / 1000);

function timesOf(series: HistorySeries[], before: number): number[] {
    const seen = new Set<number>();
    for (const one of series)
        one.points.forEach((point) => seen.add(secondOf(point.time)));
    return [...seen].filter((time) => time < before).sort((a, b) => a - b);
}

function valuesOf(series: HistorySeries, index: Map<number, number>): Value[] {
    const values = nulls(index.size);
    for (const point of series.points) {
        const at = index.get(secondOf(point.time));
        if (at !== undefined)
            values[at] = point.value;
    }
    return values;
}

/* `known`: a live frame, which knows the kinds of counters; the history does not. */
export function historyFrame(all: HistorySeries[], step: number, known: Frame | null): Frame {
    const series = latestProcess(all);
    const times = timesOf(series, Infinity);
    const index = new Map(times.map((time, i) => [time, i]));
    const frame: Frame = { ...emptyFrame(), times, step: Math.max(1, step) };
    for (const one of series) {
        const tags = parseTags(one.tags);
        const key = seriesKey({ provider: one.provider, name: one.counter, tags });
        const live = known?.tracks.get(key);
        frame.tracks.set(key, {
            key,
            provider: one.provider,
            name: one.counter,
            displayName: live?.displayName ?? one.counter,
            unit: one.unit,
            tags,
            isRate: live?.isRate ?? isRateByName(one),
            latest: live?.latest ?? null,
            values: valuesOf(one, index),
            rates: null,
            quantiles: null,
        });
    }
    return frame;
}

/* Of a process that has ended nobody tells the kind. These are the usual ones that are kept as rates. */
function isRateByName({ counter, unit }: HistorySeries): boolean {
    return /-per-second$|-rate$|-count$|\.(time|io|faults|events|collections|exceptions|total_allocated|lock_contentions|compiled_methods)$/.test(counter)
        && !/^(assembly|active-timer|threadpool-thread|methods-jitted)-count$/.test(counter) && unit !== "%";
}

/* What the store has from before the first message of the stream, put in front. */
export function prefill(frame: Frame, all: HistorySeries[]): void {
    const series = latestProcess(all);
    const first = frame.times[0] ?? Infinity;
    const times = timesOf(series, first).filter((time) => time >= (frame.times[0] ?? Date.now() / 1000) - LIVE_SECONDS);
    const index = new Map(times.map((time, i) => [time, i]));
    const byKey = new Map(series.map((one) => [seriesKey({ provider: one.provider, name: one.counter, tags: parseTags(one.tags) }), one]));
    for (const [key, track] of frame.tracks) {
        const one = byKey.get(key);
        for (const column of columnsOf(track))
            column.unshift(...(one && column === track.values ? valuesOf(one, index) : nulls(times.length)));
    }
    frame.times.unshift(...times);
    frame.version++;
}

/* The columns between two times. */
export function slice(frame: Frame, from: number, to: number): Frame {
    const start = frame.times.findIndex((time) => time >= from);
    const after = frame.times.findIndex((time) => time > to);
    const end = after < 0 ? frame.times.length : after;
    const cut = <T>(column: T[]): T[] => (start < 0 ? [] : column.slice(start, end));
    const tracks = new Map<string, Track>();
    for (const [key, track] of frame.tracks) {
        const { values, rates, quantiles } = track;
        tracks.set(key, {
            ...track,
            values: cut(values),
            rates: rates && cut(rates),
            quantiles: quantiles && { p50: cut(quantiles.p50), p95: cut(quantiles.p95), p99: cut(quantiles.p99) },
        });
    }
    return { ...frame, times: cut(frame.times), tracks };
}
