/* Comparing: keep the present state as baseline or choose a recording; how the two are brought to the same scale. */
import type { FrameTable } from "../../../flame/rows";
import type { Recording } from "../../api";
import { moment, seconds } from "../../format";
import { useCell, useRecordings } from "../../store";
import { Choice, Notice } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { keep, kept, type BaselineState } from "./baseline";
import type { Feed } from "./feed";
import type { Model } from "./model";
import { change, type FlameState } from "./state";

function nameOf(recording: Recording): string {
    const what = recording.name || recording.process?.name || recording.fileName || recording.kind;
    return `${what}, ${moment(recording.startedUtc ?? recording.createdUtc)}`;
}

const stopComparing = { base: "", norm: "", side: "", sort: "" };

export function CompareControl({ feed, table, state }: { feed: Feed; table: FrameTable; state: FlameState }) {
    const all = useCell(kept).filter((one) => one.table === table);
    const recordings = (useRecordings() ?? []).filter((one) => !one.live && one.id !== feed.source.recording && one.state === "Succeeded");
    const known = all.some((one) => one.id === state.base) || recordings.some((one) => one.id === state.base);
    const keepNow = () => {
        change({ base: keep(feed, table), window: "" });
        toast(feed.rows.isComplete ? "Kept as baseline: open another recording to compare it." : "Kept as baseline: what comes from now on is compared with it.", "good");
    };
    return (
        <div class="flame-field">
            <button type="button" onClick={keepNow} title="Compare what follows with what is here now">Keep as baseline</button>
            {(all.length > 0 || recordings.length > 0 || state.base) && (
                <select aria-label="Compare with" value={state.base} onChange={(event) => change(event.currentTarget.value ? { base: event.currentTarget.value, window: "" } : stopComparing)}>
                    <option value="">Compare with…</option>
                    {!known && state.base && <option value={state.base}>{state.base.startsWith("kept:") ? "kept earlier" : "another recording"}</option>}
                    {all.filter((one, i) => all.findIndex((other) => other.id === one.id) === i).map((one) => <option key={one.id} value={one.id}>{one.label}</option>)}
                    {recordings.map((one) => <option key={one.id} value={one.id}>{nameOf(one)}</option>)}
                </select>
            )}
        </div>
    );
}

function Scale({ model, state }: { model: Model; state: FlameState }) {
    const isTiny = (model.isBefore ? model.base : model.weights)!.total[0] === 0;
    if (isTiny)
        return <span>Nothing has come since the baseline yet.</span>;
    return (
        <span>
            <b class="grew">+ red grew</b>, <b class="shrank">− blue, hatched shrank</b>. The baseline
            {state.byTime ? " is scaled to the same time" : " is scaled to the same total"}
            {` (× ${model.factor.toPrecision(3)}; ${seconds(model.seconds)} shown).`}
        </span>
    );
}

/* What one compares with, while one does. */
export function CompareBar({ state, base, model }: { state: FlameState; base: BaselineState; model: Model | null }) {
    if (!state.base)
        return null;
    const stop = <button type="button" onClick={() => change(stopComparing)}>Stop comparing</button>;
    if (base.error) {
        return (
            <Notice mood="warn" action={stop}>
                {state.base.startsWith("kept:") ? "The kept baseline is gone with its recording: keep another." : "The baseline cannot be read."} {base.error}
            </Notice>
        );
    }
    return (
        <div class="flame-row flame-compared">
            <span class="only-read" role="status">{base.baseline ? "Compared with the baseline" : ""}</span>
            {base.baseline && model?.base ? <Scale model={model} state={state} /> : <span class="quiet">Reading the baseline…</span>}
            <div class="flame-end">
                <Choice label="Same scale by" options={[["time", "By time"], ["total", "By total"]] as const} value={state.byTime ? "time" : "total"}
                    onChange={(norm) => change({ norm: norm === "total" ? norm : "" })} />
                <Choice label="Widths of" options={[["now", "Now"], ["before", "Before"]] as const} value={state.isBefore ? "before" : "now"}
                    onChange={(side) => change({ side: side === "before" ? side : "" })} />
                {stop}
            </div>
        </div>
    );
}
