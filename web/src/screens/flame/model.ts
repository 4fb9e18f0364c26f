/* From what was read to what is shown: the amounts of now, those of the baseline at the same scale, and of each method. */
import { unite } from "../../../flame/compare";
import type { Calls, Weights } from "../../../flame/profile";
import { since } from "../../../flame/rows";
import { named, type Baseline } from "./baseline";
import type { Feed } from "./feed";
import type { FlameState } from "./state";

export interface Model {
    calls: Calls;
    weights: Weights; // what widths are
    base: Weights | null; // the other side of a comparison
    isBefore: boolean; // `weights` are the baseline's, `base` those of now
    wait: Float64Array | null;
    sums: Weights;
    baseSums: Weights | null;
    unit: string;
    seconds: number; // how long what is shown is
    factor: number; // what the baseline was multiplied with
}

/* Of a recording compared with an earlier state of itself: only what came since. */
function now(feed: Feed, state: FlameState): { weights: Weights; seconds: number } {
    const weights = feed.rows.weights();
    const earlier = state.last > 0 && !feed.rows.isComplete ? feed.earlier(state.last) : null;
    const seconds = feed.rows.durationSeconds;
    if (!earlier || earlier.weights === weights)
        return { weights, seconds };
    return { weights: since(weights, earlier.weights), seconds: seconds - earlier.seconds };
}

function compared(feed: Feed, baseline: Baseline, state: FlameState): Omit<Model, "wait" | "sums" | "baseSums" | "unit"> {
    const isOwn = baseline.recording === feed.source.recording && baseline.id.startsWith("kept:");
    const present = isOwn ? { weights: feed.rows.weights(), seconds: feed.rows.durationSeconds } : now(feed, state);
    const united = unite({ calls: feed.rows.calls(), weights: present.weights }, named(baseline), 1);
    const weights = isOwn ? since(united.now, united.before) : united.now;
    const seconds = isOwn ? Math.max(0, present.seconds - baseline.seconds) : present.seconds;
    const ratio = state.byTime ? seconds / baseline.seconds : weights.total[0]! / united.before.total[0]!;
    const factor = Number.isFinite(ratio) && ratio > 0 ? ratio : 1;
    const scale = (values: Float64Array) => values.map((value) => value * factor);
    const before = { self: scale(united.before.self), total: scale(united.before.total) };
    return state.isBefore
        ? { calls: united.calls, weights: before, base: weights, isBefore: true, seconds: baseline.seconds, factor }
        : { calls: united.calls, weights, base: before, isBefore: false, seconds, factor };
}

export function makeModel(feed: Feed, baseline: Baseline | null, state: FlameState): Model {
    feed.rows.placeSources();
    const made = baseline ? compared(feed, baseline, state)
        : { calls: feed.rows.calls(), ...now(feed, state), base: null, isBefore: false, factor: 1 };
    const { calls, weights, base } = made;
    return {
        ...made, unit: feed.rows.unit,
        wait: state.colour === "waiting" ? calls.waiting(weights.self) : null,
        sums: calls.sumByFrame(weights),
        baseSums: base && calls.sumByFrame(base),
    };
}
