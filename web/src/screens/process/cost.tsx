/* What a live recording costs the process: its CPU before one looked, and just after. Measured by the kernel's clock of the process, as its
 * chart is; nothing is estimated. Where the load moved by itself as much as that, it is said that it cannot be told. The rule is like
 * that of `sonde top` (src/api/top_cost.h), and stricter. */
import { percent } from "../../format";
import { LINGERS_SECONDS, type Live } from "../../live";
import type { Frame, Value } from "./frames";
import { plan, plot } from "./meanings";

const BEFORE_SECONDS = 60;
const SETTLE_SECONDS = 3; // names are read at the start: that is not what it costs from then on
const SINCE_SECONDS = 15; // what comes later is not compared: what the load does minutes later is not the cost
const LEAST = 5; // seconds on each side
const SURE = 2; // standard errors
const DRIFTS = 2; // the cost must be more than so many times the drift since,
const RISES = 3; // and more than so many times the rise: most of the cost must not be load

export type Cost =
    | { state: "measuring" }
    | { state: "missing" } // too little is known of the time around its start
    | { state: "unknown"; before: number; since: number } // its load moved more than that
    | { state: "known"; share: number }; // of a CPU

interface Side {
    mean: number;
    error: number; // of the mean
    drift: number; // between parts of it
}

const average = (of: number[]): number => of.reduce((sum, one) => sum + one, 0) / of.length;

/* Seconds are not independent of each other: what moves slowly is seen by the parts of the span. */
function sideOf(values: number[]): Side {
    const mean = average(values);
    const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1);
    const count = Math.max(2, Math.round(values.length / SINCE_SECONDS));
    const cut = (i: number) => Math.floor((i * values.length) / count);
    const parts = Array.from({ length: count }, (_, i) => average(values.slice(cut(i), cut(i + 1))));
    return { mean, error: Math.sqrt(variance / values.length), drift: Math.max(...parts) - Math.min(...parts) };
}

function within(times: number[], values: Value[], from: number, to: number): number[] {
    return values.filter((value, i): value is number => value !== null && times[i]! >= from && times[i]! < to);
}

/* What is kept, as the chart forgets after some minutes. */
const KEPT_MAX = 64;

function keep<K, V>(kept: Map<K, V>, key: K, value: V): V {
    if (!kept.has(key) && kept.size >= KEPT_MAX)
        kept.delete(kept.keys().next().value!);
    kept.set(key, value);
    return value;
}

const befores = new Map<number, { count: number; was: Side }>(); // by `quiet`, the start in milliseconds
const verdicts = new Map<string, Cost>(); // by `quiet` and `since`

function beforeOf(times: number[], values: Value[], quiet: number): Side | null {
    const was = within(times, values, quiet - BEFORE_SECONDS, quiet - 1);
    const kept = befores.get(quiet);
    if (was.length < LEAST || (kept && kept.count >= was.length))
        return kept?.was ?? null;
    return keep(befores, quiet, { count: was.length, was: sideOf(was) }).was;
}

/* By how much `later` is above the lowest of `first`: a view costs most at its start, so what rises later is load. */
const riseOf = (first: number[], later: number): number => Math.max(0, later - Math.min(later, ...first));

/* Under the view of the tab before, where there was one; null: the chart has forgotten it. */
function riseBefore(times: number[], values: Value[], quiet: number, since: number): number | null {
    if (quiet >= since)
        return 0;
    if (!(times[0]! <= quiet + SETTLE_SECONDS))
        return null;
    const settled = quiet + SETTLE_SECONDS;
    const late = within(times, values, Math.max(settled, since - SINCE_SECONDS), since);
    return late.length ? riseOf(within(times, values, settled, settled + SINCE_SECONDS), average(late)) : 0;
}

function judge(times: number[], values: Value[], quiet: number, since: number, settled: number): Cost {
    const before = beforeOf(times, values, quiet);
    const isOver = (times[times.length - 1] ?? 0) >= settled + SINCE_SECONDS;
    const is = within(times, values, settled, settled + SINCE_SECONDS);
    if (is.length < LEAST)
        return { state: isOver ? "missing" : "measuring" };
    const earlier = riseBefore(times, values, quiet, since);
    if (!before || earlier === null)
        return { state: "missing" };
    const after = sideOf(is);
    const share = after.mean - before.mean;
    const rise = Math.max(earlier, riseOf(within(times, values, since + SETTLE_SECONDS / 2, settled), after.mean));
    const isKnown = share > before.drift && share > DRIFTS * after.drift && share > RISES * rise && share > SURE * Math.hypot(before.error, after.error);
    const cost: Cost = isKnown ? { state: "known", share } : { state: "unknown", before: before.mean, since: after.mean };
    return isOver ? keep(verdicts, `${quiet} ${since}`, cost) : cost;
}

/* `quiet`, `since`: of the live recording. The one of the tab before goes on for half a minute. */
export function costOf(times: number[], values: Value[], quiet: number, since: number): Cost {
    const settled = since + SETTLE_SECONDS + (quiet < since ? LINGERS_SECONDS : 0);
    return verdicts.get(`${quiet} ${since}`) ?? judge(times, values, quiet, since, settled);
}

const textOf = (cost: Cost): string => {
    if (cost.state === "known")
        return `about ${percent(cost.share)} of a CPU of this process`;
    if (cost.state === "unknown")
        return `its cost cannot be told: the load of this process moves more than that (${percent(cost.before)} of a CPU before, ${percent(cost.since)} just after its start)`;
    if (cost.state === "missing")
        return "its cost cannot be told, because too little is known of the time around its start";
    return "its cost to this process is being measured";
};

export function LiveCost({ recording, frame }: { recording: Live; frame: Frame | null }) {
    if (recording.state !== "running" || !recording.since)
        return null;
    const chart = frame && plot(frame, plan("cpu"));
    const cost = costOf(chart?.times ?? [], chart?.lines[0]?.values ?? [], recording.quiet, recording.since);
    return (
        <p class="quiet live-cost" data-testid="live-cost" data-state={cost.state} data-value={cost.state === "known" ? cost.share : ""}>
            Live recording: {textOf(cost)}. It ends half a minute after you leave.
        </p>
    );
}
