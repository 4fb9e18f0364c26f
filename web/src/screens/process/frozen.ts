/* Stretches in which a counter of the runtime stands still though it cannot: .NET 10's server GC, when it changes its number of heaps,
 * tells the same sum of allocated bytes for minutes while it collects, then all of them at once. */
import type { Frame, Value } from "./frames";

export interface Still {
    first: number;
    last: number; // the point that tells what was missing; the end of the frame when none has come yet
    total: number | null; // what it tells
}

const LEAST = 4; // points: one or two without an allocation are nothing special

/* `motion`: what cannot be without it, each second. */
export function findStills(frame: Frame, values: Value[], motion: Value[]): Still[] {
    const stills: Still[] = [];
    for (let first = 0; first < values.length; first++) {
        let end = first;
        let moved = 0;
        for (; end < values.length && values[end] === 0; end++)
            moved += (motion[end] ?? 0) > 0 ? 1 : 0;
        if (end - first >= LEAST && moved * 2 >= end - first)
            stills.push(stillOf(frame, values, first, end));
        first = end;
    }
    return stills;
}

function stillOf(frame: Frame, values: Value[], first: number, end: number): Still {
    const next = values[end];
    if (next === undefined || next === null)
        return { first, last: end - 1, total: null };
    return { first, last: end, total: next * Math.max(1, frame.times[end]! - frame.times[end - 1]!) };
}
