/* Charts of a process: by the plans of meanings.ts, all of one view sharing hover and zoom; and the choice of the time they show. */
import type { ComponentChildren } from "preact";
import { clock, inUnit, moment } from "../../format";
import { setParams } from "../../route";
import { info, useCell } from "../../store";
import { Chart } from "../../ui/chart";
import { Choice, Loading, Notice } from "../../ui/parts";
import { isCut, type Frame, type Value } from "./frames";
import { plan, plot, type Plotted } from "./meanings";
import { HistoryNote } from "./notes";
import { RANGES, type View, type Window } from "./use_frame";

const SYNC = "process";

let zoomed = 0;

/* Charts that share their cursor all tell of one drag: the first counts. */
export function zoomTo(from: number, to: number): void {
    const now = performance.now();
    if (to - from < 2 || now - zoomed < 200)
        return;
    zoomed = now;
    setParams({ from: Math.floor(from), to: Math.ceil(to) }, false);
}

export function unzoom(): void {
    setParams({ from: undefined, to: undefined }, false);
}

/* A chart that zooms with its neighbours: the zoom is in the address. */
export function ZoomChart({ times, version, window, lines, format, ticks, label, height, least }: {
    times: number[];
    version: number;
    window: Window;
    lines: { label: string; values: Value[]; low?: Value[]; colour?: string }[];
    format: (value: number) => string;
    ticks?: (value: number) => string;
    label: string;
    height?: number;
    least?: number;
}) {
    return (
        <div onDblClick={window.isChosen ? unzoom : undefined}>
            <Chart key={`${window.range}|${window.from}|${window.to}`} times={times} series={lines} format={format} ticks={ticks ?? format} label={label}
                height={height ?? 150} least={least ?? 0} sync={SYNC} version={version} onZoom={zoomTo} />
        </div>
    );
}

function PlanCard({ plotted: { plan: of, times, lines, remarks }, frame, window }: { plotted: Plotted; frame: Frame; window: Window }) {
    const format = (value: number) => inUnit(value, of.unit, of.perSecond);
    const ticks = (value: number) => inUnit(value, of.unit.startsWith("{") ? "" : of.unit, of.perSecond);
    const only = lines.length === 1 && !lines[0]!.low ? lines[0]! : null;
    const now = only?.values[only.values.length - 1] ?? null;
    return (
        <section class="card plan" data-testid={`chart-${of.id}`}>
            <header>
                <h2 title={of.note}>{of.title}</h2>
                {only && <b class="now" data-testid={`now-${of.id}`} data-value={now ?? ""}>{now === null ? "–" : format(now)}</b>}
            </header>
            <ZoomChart times={times} version={frame.version} window={window} lines={lines} format={format} ticks={ticks} label={of.title} least={of.least ?? 0} />
            {remarks.map((remark) => <p key={remark} class="quiet remark" data-testid={`remark-${of.id}`}>{remark}</p>)}
        </section>
    );
}

/* The charts of these plans that the process has something for. */
export function Plans({ ids, view, window, empty }: { ids: string[]; view: View; window: Window; empty?: ComponentChildren }) {
    const { frame, error } = view;
    if (!frame)
        return error ? <Notice mood="warn">{error}</Notice> : <Loading what="Reading the history…" />;
    if (frame.times.length === 0 && !isCut(frame))
        return view.isLive ? <Loading what="Waiting for the first counters…" /> : <Notice>Nothing was kept of this process in that time.</Notice>;
    const plotted = ids.map((id) => plot(frame, plan(id))).filter((one) => one !== null);
    return (
        <>
            <HistoryNote frame={frame} />
            {plotted.length > 0 ? <div class="grid plans">{plotted.map((one) => <PlanCard key={one.plan.id} plotted={one} frame={frame} window={window} />)}</div> : !isCut(frame) && empty}
        </>
    );
}

/* Live, or how far back; where one zoomed to. */
export function RangeBar({ window, hasEnded = false }: { window: Window; hasEnded?: boolean }) {
    const hasStore = useCell(info)?.hasStore ?? false;
    const options = RANGES.filter(([id]) => id === "5m" || hasStore).map(([id, label]) => [id, id === "5m" && hasEnded ? "Last 5 min" : label] as [string, string]);
    const choose = (range: string) => setParams({ range: range === "5m" ? undefined : range, from: undefined, to: undefined });
    return (
        <div class="row range">
            <Choice label="Time shown" options={options} value={window.isChosen ? "" : window.range} onChange={choose} />
            {window.isChosen && window.from !== null && window.to !== null
                ? <button type="button" onClick={unzoom}>{rangeText(window.from, window.to)} · zoom out</button>
                : <span class="quiet hint">Drag in a chart to zoom.</span>}
        </div>
    );
}

function rangeText(from: number, to: number): string {
    const [start, end] = [new Date(from * 1000), new Date(to * 1000)];
    return to - from < 86400 ? `${clock(start)} – ${clock(end)}` : `${moment(start.toISOString())} – ${moment(end.toISOString())}`;
}
