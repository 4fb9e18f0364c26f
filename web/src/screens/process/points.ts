/* Points of the history by their time: what one series has twice for a second or a step is put together. */
import type { HistoryPoint } from "../../api";

export const BACK_SECONDS = 5; // a clock that goes back by more was set

export const secondOf = (time: string): number => Math.floor(Date.parse(time) / 1000);

type Told = number | null | undefined;
type Quantile = NonNullable<HistoryPoint["quantiles"]>[number];

const add = (a = 0, b = 0): number => a + b;
const outer = (choose: (...of: number[]) => number, a: Told, b: Told): number | null => (typeof a === "number" && typeof b === "number" ? choose(a, b) : a ?? b ?? null);

function widened(some: Quantile[], others: Quantile[]): Quantile[] {
    const all = new Map(some.map((one) => [one.at, one]));
    for (const { at, low, high } of others) {
        const known = all.get(at);
        all.set(at, { at, low: Math.min(known?.low ?? low, low), high: Math.max(known?.high ?? high, high) });
    }
    return [...all.values()];
}

/* Of two points of one series that are in one step, or in one second: intervals that are a little short, or a clock that was set back. */
function together(one: HistoryPoint, other: HistoryPoint): HistoryPoint {
    const count = add(one.count, other.count);
    const both = { ...other, min: outer(Math.min, one.min, other.min), max: outer(Math.max, one.max, other.max), count };
    if (one.measurements === undefined || other.measurements === undefined) {
        const isWeighed = one.value !== null && other.value !== null && count > 0;
        return { ...both, value: isWeighed ? (one.value! * (one.count ?? 0) + other.value! * (other.count ?? 0)) / count : other.value ?? one.value };
    }
    const measurements = add(one.measurements, other.measurements);
    const sum = add(one.sum, other.sum);
    return { ...both, value: measurements > 0 ? sum / measurements : null, measurements, sum, seconds: add(one.seconds, other.seconds), quantiles: widened(one.quantiles ?? [], other.quantiles ?? []) };
}

/* One point for each time. */
export function onePerTime(points: HistoryPoint[]): HistoryPoint[] {
    const seen = new Map<number, HistoryPoint>();
    for (const point of points) {
        const second = secondOf(point.time);
        const before = seen.get(second);
        seen.set(second, before ? together(before, point) : point);
    }
    return seen.size === points.length ? points : [...seen.values()];
}
