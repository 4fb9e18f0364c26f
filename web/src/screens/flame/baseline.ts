/* What the present is compared with: a state that was kept in this page, or another recording. */
import { useEffect, useState } from "preact/hooks";
import type { Side } from "../../../flame/compare";
import { Rows, type FrameTable } from "../../../flame/rows";
import { get, type FlameRows } from "../../api";
import { Cell, useCell } from "../../store";
import { profilePath, type Feed } from "./feed";

export interface Baseline extends Side {
    id: string;
    recording: string;
    view: string;
    seconds: number; // how long it is
    of: { rows: Rows; epoch: number } | null; // what it is an earlier state of, while that is read here
}

interface Kept {
    id: string;
    label: string;
    baseline: Baseline;
}

const KEPT_MAX = 6;

/* Of this tab, newest first. Their frames are of the table they were kept with. */
export const kept = new Cell<(Kept & { table: FrameTable })[]>([]);

export function keep(feed: Feed, table: FrameTable): string {
    const { rows, source } = feed;
    const id = `kept:${source.recording}@${rows.durationSeconds.toFixed(1)}`;
    const time = new Date().toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
    const baseline = { id, recording: source.recording, view: source.view, seconds: rows.durationSeconds, calls: rows.calls(), weights: rows.weights(), of: { rows, epoch: rows.epoch } };
    const one = { id, label: `kept at ${time}`, baseline, table };
    kept.set([one, ...kept.value.filter((other) => other.id !== id || other.baseline.view !== source.view)].slice(0, KEPT_MAX));
    return id;
}

/* "kept:ID@12.5" is the recording's first 12.5 seconds, also for who was not there when it was kept. */
function parseBase(base: string): { recording: string; to?: number } {
    const found = /^kept:([^@]+)@(\d+(?:\.\d+)?)$/.exec(base);
    return found ? { recording: found[1]!, to: Number(found[2]) } : { recording: base };
}

async function load(base: string, view: string, table: FrameTable, signal: AbortSignal): Promise<Baseline> {
    const source = { ...parseBase(base), view, nodes: 100_000 };
    const rows = new Rows(table);
    rows.take({ ...(await get<FlameRows>(profilePath(source, 0), signal)), since: 0 });
    return { id: base, recording: source.recording, view, seconds: rows.durationSeconds, calls: rows.calls(), weights: rows.weights(), of: null };
}

/* The baseline by the names that are known now. A runtime tells the names of its methods late: by those of its own time, what has a name only
 * now would look as if it came since. */
export function named(baseline: Baseline): Side {
    if (baseline.of === null || baseline.of.epoch !== baseline.of.rows.epoch)
        return baseline;
    const calls = baseline.of.rows.calls();
    const grown = (values: Float64Array) => {
        const all = new Float64Array(calls.nodeCount); // nodes keep their places, new ones come behind
        all.set(values);
        return all;
    };
    return { calls, weights: { self: grown(baseline.weights.self), total: grown(baseline.weights.total) } };
}

export interface BaselineState {
    baseline: Baseline | null;
    error: string | null;
}

/* `epoch`: how often what is shown was numbered anew, as when a runtime has told the names of its methods. What was kept before that is asked for
 * again: the controller knows it by the new names. */
export function useBaseline(base: string, view: string, table: FrameTable, epoch: number): BaselineState {
    const all = useCell(kept);
    const [state, setState] = useState<BaselineState>({ baseline: null, error: null });
    const own = all.find((one) => one.id === base && one.baseline.view === view && one.table === table && one.baseline.of?.epoch === one.baseline.of?.rows.epoch)?.baseline ?? null;
    useEffect(() => {
        setState((before) => (before.baseline?.id === base && before.baseline.view === view ? before : { baseline: null, error: null }));
        if (!base || own)
            return undefined;
        const abort = new AbortController();
        load(base, view, table, abort.signal).then((baseline) => setState({ baseline, error: null }), (problem: unknown) => {
            if (!abort.signal.aborted)
                setState({ baseline: null, error: problem instanceof Error ? problem.message : String(problem) });
        });
        return () => abort.abort();
    }, [base, view, table, own === null, own === null && base.startsWith("kept:") ? epoch : 0]);
    if (own)
        return { baseline: own, error: null };
    return state.baseline && (state.baseline.id !== base || state.baseline.view !== view) ? { baseline: null, error: null } : state;
}
