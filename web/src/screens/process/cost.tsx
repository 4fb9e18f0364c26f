/* What a live recording costs the process: its CPU before one looked, and since. Measured by the kernel's clock of the process, as its
 * chart is; nothing is estimated. Where the load moved by itself as much as that, it is said that it cannot be told. */
import { percent } from "../../format";
import { LINGERS_SECONDS, type Live } from "../../live";
import type { Frame, Value } from "./frames";
import { plan, plot } from "./meanings";

const BEFORE_SECONDS = 60;
const SETTLE_SECONDS = 3; // names are read at the start: that is not what it costs from then on
const LEAST = 5; // seconds on each side
const SURE = 2; // standard errors

export type Cost =
    | { state: "measuring" }
    | { state: "missing" } // nothing is known of the time before
    | { state: "unknown"; before: number; since: number } // its load moved more than that
    | { state: "known"; share: number }; // of a CPU

interface Mean {
    mean: number;
    error: number; // of the mean
}

/* Seconds are not independent of each other: what moves slowly counts by halves of the span, too. */
function meanOf(values: number[]): Mean {
    const average = (of: number[]) => of.reduce((sum, one) => sum + one, 0) / of.length;
    const mean = average(values);
    const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1);
    const half = values.length >> 1;
    const drift = Math.abs(average(values.slice(half)) - average(values.slice(0, half))) / 2;
    return { mean, error: Math.max(Math.sqrt(variance / values.length), drift / SURE) };
}

function within(times: number[], values: Value[], from: number, to: number): number[] {
    return values.filter((value, i): value is number => value !== null && times[i]! >= from && times[i]! < to);
}

/* By `quiet`, the start in milliseconds: the chart forgets after some minutes what was before. */
const befores = new Map<number, { count: number; was: Mean }>();
const BEFORES_MAX = 64;

function beforeOf(times: number[], values: Value[], quiet: number): Mean | null {
    const was = within(times, values, quiet - BEFORE_SECONDS, quiet - 1);
    const kept = befores.get(quiet);
    if (was.length < LEAST || (kept && kept.count >= was.length))
        return kept?.was ?? null;
    const mean = meanOf(was);
    if (!kept && befores.size >= BEFORES_MAX)
        befores.delete(befores.keys().next().value!);
    befores.set(quiet, { count: was.length, was: mean });
    return mean;
}

/* `quiet`, `since`: of the live recording. The one of the tab before goes on for half a minute. */
export function costOf(times: number[], values: Value[], quiet: number, since: number): Cost {
    const settled = since + SETTLE_SECONDS + (quiet < since ? LINGERS_SECONDS : 0);
    const before = beforeOf(times, values, quiet);
    const is = within(times, values, settled, Infinity);
    if (is.length < LEAST)
        return { state: "measuring" };
    if (!before)
        return { state: "missing" };
    const after = meanOf(is);
    const share = after.mean - before.mean;
    if (share < SURE * Math.hypot(before.error, after.error))
        return { state: "unknown", before: before.mean, since: after.mean };
    return { state: "known", share };
}

const textOf = (cost: Cost): string => {
    if (cost.state === "known")
        return `about ${percent(cost.share)} of a CPU of this process`;
    if (cost.state === "unknown")
        return `its cost cannot be told: the load of this process moves more than that (${percent(cost.before)} of a CPU before, ${percent(cost.since)} since)`;
    if (cost.state === "missing")
        return "its cost cannot be told, because nothing is known of the time before it";
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
