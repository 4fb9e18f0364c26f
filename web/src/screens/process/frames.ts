/* Counters over time, ready for charts: one list of times and a value or null at each, for every counter of a process. A live frame
 * grows with the stream, a history frame is what the store answered. */
import type { Counter, HistoryPoint, HistorySeries, ProcessCounters } from "../../api";
import { BACK_SECONDS, onePerTime, secondOf } from "./points";

export type Value = number | null;

export function seriesKey(counter: { provider: string; name: string; tags?: Record<string, string> }): string {
    const tags = Object.entries(counter.tags ?? {}).map(([name, value]) => `${name}=${value}`).sort().join(",");
    return `${counter.provider}/${counter.name}{${tags}}`;
}

export interface Quantiles {
    p50: Value[];
    p95: Value[];
    p99: Value[];
}

/* Of percentiles over several intervals: each is somewhere between. */
export interface Band {
    low: Value[];
    high: Value[];
}

export type Bands = Record<keyof Quantiles, Band>;

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
    counts: Value[] | null; // and how many
    quantiles: Quantiles | null; // of single intervals
    bands: Bands | null; // of steps of several
    isHistogram: boolean;
    hasMeansOnly: boolean; // somewhere there are means without their counts
}

export interface Frame {
    times: number[]; // whole seconds since 1970
    gaps: Set<number>; // those of them at which nothing is known: lines end there
    tracks: Map<string, Track>;
    version: number; // grows with every change: arrays grow in place
    step: number; // seconds that are put together in a point
    spacing: number; // seconds between points
    hasEnded: boolean;
    note: string; // what the controller says of the counters
    cutUntil: number; // up to here the history is not whole; 0: it is
}

export const LIVE_SECONDS = 300;
const SLACK = 60;

/* Levels that the runtime declares as counters, so that they come as changes a second: their total is the level. */
const LEVELS = new Set(["dotnet.thread_pool.thread.count", "dotnet.thread_pool.queue.length"]);

export function emptyFrame(): Frame {
    return { times: [], gaps: new Set(), tracks: new Map(), version: 0, step: 1, spacing: 1, hasEnded: false, note: "", cutUntil: 0 };
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

function quantilesOf(length: number): Quantiles {
    return { p50: nulls(length), p95: nulls(length), p99: nulls(length) };
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
        counts: isHistogram ? nulls(size) : null,
        quantiles: isHistogram ? quantilesOf(size) : null,
        bands: null,
        isHistogram,
        hasMeansOnly: false,
    };
    frame.tracks.set(key, made);
    return made;
}

function columnsOf(track: Track): Value[][] {
    const { values, rates, counts, quantiles } = track;
    return [values, ...(rates ? [rates] : []), ...(counts ? [counts] : []), ...(quantiles ? [quantiles.p50, quantiles.p95, quantiles.p99] : [])];
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
    if (track.counts)
        track.counts[at] = counter.count ?? null;
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
    frame.times.splice(0, cut).forEach((time) => frame.gaps.delete(time));
    eachColumn(frame, (column) => column.splice(0, cut));
    for (const [key, track] of frame.tracks) { // a route that nobody asks for any more
        if (track.values.every((value) => value === null))
            frame.tracks.delete(key);
    }
}

/* Nothing came for longer than a message may be late. */
function isGap(before: number, after: number, { step, spacing }: Frame): boolean {
    return after - before > (step > 1 ? 1.5 * Math.max(step, spacing) : Math.max(5, 3 * spacing));
}

function push(frame: Frame, time: number): void {
    frame.times.push(time);
    eachColumn(frame, (column) => column.push(null));
}

/* The clock was set back: what was before is not before what comes. */
function beginAnew(frame: Frame): void {
    Object.assign(frame, { times: [], gaps: new Set(), cutUntil: 0 });
    frame.tracks.clear();
}

/* One message of the stream is one column. True: some are missing before it. */
export function take(frame: Frame, message: ProcessCounters): boolean {
    frame.hasEnded = message.hasEnded;
    if (!message.hasEnded)
        frame.note = message.note;
    frame.spacing = Math.max(1, message.intervalSeconds);
    const time = message.counters.reduce((latest, one) => Math.max(latest, Math.floor(Date.parse(one.time) / 1000)), 0);
    if (time > 0 && time < (frame.times[frame.times.length - 1] ?? 0) - BACK_SECONDS)
        beginAnew(frame);
    const last = frame.times[frame.times.length - 1] ?? 0;
    if (time === 0 || time < last)
        return false;
    const isLate = last > 0 && isGap(last, time, frame);
    if (isLate) {
        frame.gaps.add(last + 1);
        push(frame, last + 1);
    }
    if (time > last)
        push(frame, time);
    for (const counter of message.counters)
        put(trackOf(frame, counter), frame.times.length - 1, counter);
    trim(frame);
    frame.version++;
    return isLate;
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

/* Several processes may have had the pid: the latest one counts. Of levels an older controller kept the changes, which are of no use. */
function latestProcess(series: HistorySeries[]): HistorySeries[] {
    const id = series.reduce((most, one) => Math.max(most, one.processId), 0);
    return series.filter((one) => one.processId === id && !(one.kind === "rate" && LEVELS.has(one.counter)));
}

function timesOf(series: HistorySeries[]): number[] {
    const seen = new Set<number>();
    for (const one of series)
        one.points.forEach((point) => seen.add(secondOf(point.time)));
    return [...seen].sort((a, b) => a - b);
}

function median(values: number[]): number {
    return values.sort((a, b) => a - b)[values.length >> 1] ?? 1;
}

/* Sets the frame's times, with one more wherever there are none for a while. */
function setTimes(frame: Frame, times: number[]): void {
    frame.spacing = Math.max(1, median(times.slice(1).map((time, i) => time - times[i]!)));
    frame.times = [];
    frame.gaps = new Set();
    for (const time of times) {
        const before = frame.times[frame.times.length - 1];
        if (before !== undefined && isGap(before, time, frame)) {
            frame.gaps.add(before + 1);
            frame.times.push(before + 1);
        }
        frame.times.push(time);
    }
}

function trackOfHistory(one: HistorySeries, frame: Frame, known: Frame | null): Track {
    const tags = parseTags(one.tags);
    const key = seriesKey({ provider: one.provider, name: one.counter, tags });
    const before = frame.tracks.get(key);
    const live = known?.tracks.get(key);
    const size = frame.times.length;
    const isHistogram = one.kind === "histogram";
    const band = (): Band => ({ low: nulls(size), high: nulls(size) });
    const track: Track = before ?? {
        key,
        provider: one.provider,
        name: one.counter,
        displayName: live?.displayName ?? one.counter,
        unit: one.unit,
        tags,
        isRate: one.kind === "rate",
        latest: live?.latest ?? null,
        values: nulls(size),
        rates: isHistogram ? nulls(size) : null,
        counts: isHistogram ? nulls(size) : null,
        quantiles: isHistogram && frame.step <= 1 ? quantilesOf(size) : null,
        bands: isHistogram && frame.step > 1 ? { p50: band(), p95: band(), p99: band() } : null,
        isHistogram,
        hasMeansOnly: false,
    };
    track.hasMeansOnly ||= (one.hasMeansOnly ?? false) && one.points.length > 0;
    frame.tracks.set(key, track);
    return track;
}

const IDS = [["p50", 0.5], ["p95", 0.95], ["p99", 0.99]] as const;

function putPast(track: Track, at: number, point: HistoryPoint, seconds: number): void {
    track.values[at] = point.value;
    if (point.measurements === undefined)
        return;
    if (track.rates)
        track.rates[at] = seconds > 0 ? point.measurements / seconds : null;
    if (track.counts)
        track.counts[at] = point.measurements;
    for (const [id, quantile] of IDS) {
        const told = point.quantiles?.find((one) => one.at === quantile);
        if (track.quantiles)
            track.quantiles[id][at] = told?.high ?? null;
        if (track.bands) {
            track.bands[id].low[at] = told?.low ?? null;
            track.bands[id].high[at] = told?.high ?? null;
        }
    }
}

/* How many seconds of each step the process was watched: a route that is asked for the first time in the middle of a step has not been
 * there before, which makes its rate over the whole step no higher. Each interval has a value of the kernel's CPU time. Histograms say how
 * long an interval is; without histograms the length follows from the fullest step. */
function watchedSeconds(series: HistorySeries[], index: Map<number, number>, step: number): number[] {
    const seconds = new Array<number>(index.size).fill(0);
    const always = series.find(({ provider, counter }) => provider === "process" && counter === "process.cpu.usage")?.points ?? [];
    let told = 0;
    let intervals = 0;
    for (const { points } of step > 1 ? series : []) {
        for (const point of points) {
            const at = index.get(secondOf(point.time))!;
            seconds[at] = Math.max(seconds[at]!, point.seconds ?? 0);
            told += point.seconds ?? 0;
            intervals += point.seconds ? point.count ?? 0 : 0;
        }
    }
    const interval = intervals ? told / intervals : step / Math.max(1, ...always.map(({ count = 0 }) => count));
    for (const { time, count = 0 } of step > 1 ? always : []) {
        const at = index.get(secondOf(time))!;
        seconds[at] = Math.max(seconds[at]!, Math.min(step, count * interval));
    }
    return seconds;
}

/* Whether counters or times are missing in it that the history has. */
export function isCut({ times, cutUntil }: Frame): boolean {
    return cutUntil > (times[0] ?? 0);
}

/* `known`: a live frame, which has the names for people. `isTruncated`: the store did not tell everything. */
export function historyFrame(all: HistorySeries[], step: number, known: Frame | null, isTruncated = false): Frame {
    const series = latestProcess(all).map((one) => ({ ...one, points: onePerTime(one.points) }));
    const frame: Frame = { ...emptyFrame(), step: Math.max(1, step), cutUntil: isTruncated ? Infinity : 0 };
    setTimes(frame, timesOf(series));
    const index = new Map(frame.times.map((time, i) => [time, i]));
    const watched = watchedSeconds(series, index, step);
    for (const one of series) {
        const track = trackOfHistory(one, frame, known);
        for (const point of one.points) {
            const at = index.get(secondOf(point.time))!;
            putPast(track, at, point, Math.max(watched[at]!, point.seconds ?? 0));
        }
    }
    return frame;
}

/* Puts what the store has into a live frame: what was before the first message, and where nothing came meanwhile. */
export function refill(frame: Frame, all: HistorySeries[], isTruncated = false): void {
    const past = historyFrame(all, 0, frame);
    const newest = frame.times[frame.times.length - 1] ?? Infinity;
    const known = (one: Frame) => one.times.filter((time) => !one.gaps.has(time) && time <= newest); // later was before the clock was set back
    const times = [...new Set([...known(frame), ...known(past)])].sort((a, b) => a - b);
    const first = (times[times.length - 1] ?? 0) - LIVE_SECONDS;
    const [live, kept] = [frame, past].map((one) => new Map(one.times.map((time, i) => [time, i]))) as [Map<number, number>, Map<number, number>];
    const spacing = frame.spacing;
    setTimes(frame, times.filter((time) => time >= first));
    frame.spacing = spacing;
    frame.cutUntil = isTruncated ? times[times.length - 1] ?? 0 : 0; // what is live from then on is whole
    const merge = (own: Value[] | undefined, other: Value[] | undefined): Value[] =>
        frame.times.map((time) => own?.[live.get(time) ?? -1] ?? other?.[kept.get(time) ?? -1] ?? null);
    for (const key of new Set([...frame.tracks.keys(), ...past.tracks.keys()])) {
        const [own, other] = [frame.tracks.get(key), past.tracks.get(key)];
        const track = (own ?? other)!;
        frame.tracks.set(key, {
            ...track,
            hasMeansOnly: track.hasMeansOnly || (other?.hasMeansOnly ?? false),
            values: merge(own?.values, other?.values),
            rates: track.rates && merge(own?.rates ?? undefined, other?.rates ?? undefined),
            counts: track.counts && merge(own?.counts ?? undefined, other?.counts ?? undefined),
            quantiles: track.quantiles && {
                p50: merge(own?.quantiles?.p50, other?.quantiles?.p50),
                p95: merge(own?.quantiles?.p95, other?.quantiles?.p95),
                p99: merge(own?.quantiles?.p99, other?.quantiles?.p99),
            },
        });
    }
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
        const { values, rates, counts, quantiles } = track; // bands are of steps, which live frames do not have
        tracks.set(key, {
            ...track,
            values: cut(values),
            rates: rates && cut(rates),
            counts: counts && cut(counts),
            quantiles: quantiles && { p50: cut(quantiles.p50), p95: cut(quantiles.p95), p99: cut(quantiles.p99) },
        });
    }
    return { ...frame, times: cut(frame.times), tracks };
}
