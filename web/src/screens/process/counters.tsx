/* Every counter and metric: grouped by who tells it, searched, pinned to the top, compared with each other and with another process. */
import { useMemo } from "preact/hooks";
import { reaches } from "../../api";
import { link, setParams, type Route } from "../../route";
import { session, useCell, useProcesses } from "../../store";
import { Card, Empty, Field, Loading, Notice } from "../../ui/parts";
import { RangeBar, ZoomChart } from "./charts";
import { CounterList } from "./counter_list";
import { counterText, describe, format, formatTick, isAlike, keysOf, textOf } from "./counter_text";
import { isCut, type Frame, type Track } from "./frames";
import { CountersNote, HistoryNote } from "./notes";
import type { TabProps } from "./tab";
import { useLiveFrame, useView, type Window } from "./use_frame";

/* The same counter of another process on the times of the first. */
function aligned(track: Track, other: Frame, times: number[], step: number): (number | null)[] {
    const at = new Map<number, number>();
    other.times.forEach((time, i) => {
        if (!other.gaps.has(time))
            at.set(Math.floor(time / step), i);
    });
    return times.map((time) => {
        const i = at.get(Math.floor(time / step));
        return i === undefined ? null : (track.values[i] ?? null);
    });
}

interface Other {
    frame: Frame;
    label: string;
}

interface ChartOf {
    id: string;
    title: string;
    tracks: Track[];
}

function CounterChart({ of, frame, other, window, onClose, closeLabel }: { of: ChartOf; frame: Frame; other: Other | null; window: Window; onClose: () => void; closeLabel: string }) {
    const first = of.tracks[0]!;
    const lines = of.tracks.map((track) => ({ label: of.tracks.length > 1 || other ? describe(track, of.tracks.length > 1) : "value", values: track.values }));
    const more = other
        ? of.tracks.flatMap((track) => {
            const same = other.frame.tracks.get(track.key);
            return same ? [{ label: `${describe(track, of.tracks.length > 1)}, ${other.label}`, values: aligned(same, other.frame, frame.times, frame.step) }] : [];
        })
        : [];
    return (
        <section class="card plan" data-testid="counter-chart" data-keys={of.tracks.map((track) => track.key).join("|")}>
            <header>
                <h2 class="mono breaks">{of.title}</h2>
                <button type="button" class="plain" onClick={onClose}>{closeLabel}</button>
            </header>
            <ZoomChart times={frame.times} version={frame.version} window={window} lines={[...lines, ...more]} format={(value) => format(value, first)} ticks={(value) => formatTick(value, first)} label={of.title} height={180} />
        </section>
    );
}

/* What cannot be on one scale becomes several charts, one below the other, with one cursor. */
function comparedBy(tracks: Track[]): ChartOf[] {
    const charts: ChartOf[] = [];
    for (const track of tracks) {
        const fits = charts.find((chart) => isAlike(chart.tracks[0]!, track));
        if (fits)
            fits.tracks.push(track);
        else
            charts.push({ id: track.key, title: "", tracks: [track] });
    }
    return charts.map((chart) => ({ ...chart, title: chart.tracks.length > 1 ? `${chart.tracks.length} counters` : counterText(chart.tracks[0]!) }));
}

function Charts({ route, frame, other, window }: { route: Route; frame: Frame; other: Other | null; window: Window }) {
    const pins = keysOf(route, "pin");
    const compared = keysOf(route, "compare");
    const find = (keys: string[]) => keys.map((key) => frame.tracks.get(key)).filter((track) => track !== undefined);
    const together = comparedBy(find(compared));
    const missing = [...pins, ...compared].filter((key) => !frame.tracks.has(key));
    const drop = (name: string, keys: string[]) => setParams({ [name]: textOf(keysOf(route, name).filter((key) => !keys.includes(key))) });
    return (
        <>
            {together.length > 0 && (
                <div class="stack" aria-label="Compared">
                    {together.map((chart) => (
                        <CounterChart key={chart.id} of={chart} frame={frame} other={other} window={window} closeLabel="Stop comparing" onClose={() => drop("compare", chart.tracks.map((track) => track.key))} />
                    ))}
                </div>
            )}
            {pins.length > 0 && (
                <div class="grid" aria-label="Pinned">
                    {find(pins).map((track) => (
                        <CounterChart key={track.key} of={{ id: track.key, title: counterText(track), tracks: [track] }} frame={frame} other={other} window={window} closeLabel="Unpin" onClose={() => drop("pin", [track.key])} />
                    ))}
                </div>
            )}
            {missing.length > 0 && <p class="quiet">Not there in this time: {missing.join(", ")}</p>}
        </>
    );
}

function OtherChoice({ pid, value }: { pid: number; value: number | null }) {
    const others = (useProcesses() ?? []).filter((one) => one.pid !== pid && one.isReachable);
    return (
        <Field label="Compare with">
            <select value={value === null ? "" : String(value)} onChange={(event) => setParams({ with: event.currentTarget.value })}>
                <option value="">no other process</option>
                {others.map((one) => <option key={one.pid} value={String(one.pid)}>{one.name} ({one.pid})</option>)}
                {value !== null && !others.some((one) => one.pid === value) && <option value={String(value)}>process {value}</option>}
            </select>
        </Field>
    );
}

function useOther(pid: number | null, window: Window): Other | null {
    const live = useLiveFrame(pid);
    const { frame } = useView(pid, window, live);
    const name = useProcesses()?.find((one) => one.pid === pid)?.name ?? "process";
    return useMemo(() => (pid !== null && frame ? { frame, label: `${name} ${pid}` } : null), [pid, frame, frame?.version, name]);
}

function pidOf(text: string | null): number | null {
    const pid = Number(text);
    return Number.isInteger(pid) && pid > 0 ? pid : null;
}

export function CountersTab({ pid, process, hasEnded, route, view, window, live }: TabProps) {
    const query = route.params.get("q") ?? "";
    const mayRead = reaches(useCell(session)?.scope ?? "none", "read"); // the list of processes
    const withPid = pidOf(route.params.get("with"));
    const other = useOther(withPid, window);
    const { frame, error } = view;
    return (
        <>
            <div class="row tools">
                <Field label="Search">
                    <input type="search" value={query} placeholder="Name, provider or tag" onInput={(event) => setParams({ q: event.currentTarget.value })} />
                </Field>
                {mayRead && <OtherChoice pid={pid} value={withPid} />}
                <RangeBar window={window} hasEnded={hasEnded} />
            </div>
            <CountersNote process={process} live={live} />
            {error && <Notice mood="warn">{error}</Notice>}
            {!frame && !error && <Loading what="Reading the history…" />}
            <HistoryNote frame={frame} />
            {frame && frame.tracks.size === 0 && !isCut(frame) && (view.isLive
                ? <Loading what="Waiting for the first counters…" />
                : <Empty title="Nothing was kept" action={<a class="button" href={link(["process", pid, "counters"])}>Live</a>}>The history has nothing of this process in that time.</Empty>)}
            {frame && frame.tracks.size > 0 && (
                <>
                    <Charts route={route} frame={frame} other={other} window={window} />
                    {keysOf(route, "pin").length + keysOf(route, "compare").length === 0 && <Card><p class="quiet">Pin a counter to see it large, or tick several to see them in one chart. The address keeps the choice: copy it to show others the same.</p></Card>}
                    <CounterList frame={frame} live={live} isLive={view.isLive} route={route} query={query} />
                </>
            )}
        </>
    );
}
