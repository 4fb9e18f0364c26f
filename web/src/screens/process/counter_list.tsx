/* The list of counters by provider: a small chart and the latest value of each, to pin or to compare. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { inUnit } from "../../format";
import { setParams, type Route } from "../../route";
import { Icon } from "../../ui/icons";
import { Empty } from "../../ui/parts";
import { Spark } from "../../ui/spark";
import { counterText, keysOf, latestText, rawLatest, tagText, toggled } from "./counter_text";
import type { Frame, Track } from "./frames";

/* What people call them. */
const PROVIDERS: Record<string, string> = {
    "System.Runtime": "Runtime",
    process: "Process (kernel)",
    cgroup: "Container (cgroup)",
    machine: "Machine (pressure)",
};

/* The program's own first, then frameworks, the runtime and the kernel. */
const LAST = ["System.Runtime", "process", "cgroup", "machine"];

const STEP = 200; // rows of a provider at once; of one that has more, none until it is opened

function orderOf(provider: string): number {
    const at = LAST.indexOf(provider);
    return at >= 0 ? 2 + at : /^(Microsoft|System)[.-]/.test(provider) ? 1 : 0;
}

function groupsOf(frame: Frame, query: string): [provider: string, tracks: Track[]][] {
    const groups = new Map<string, Track[]>();
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    for (const track of frame.tracks.values()) {
        const text = `${track.provider} ${counterText(track)} ${track.displayName}`.toLowerCase();
        if (!words.every((word) => text.includes(word)))
            continue;
        const group = groups.get(track.provider);
        if (group)
            group.push(track);
        else
            groups.set(track.provider, [track]);
    }
    for (const tracks of groups.values())
        tracks.sort((a, b) => (a.key < b.key ? -1 : 1));
    return [...groups].sort(([a], [b]) => orderOf(a) - orderOf(b) || (a < b ? -1 : 1));
}

function Sparkline({ track, frame }: { track: Track; frame: Frame }) {
    const known: number[] = [];
    const times: number[] = [];
    track.values.forEach((value, i) => {
        if (value !== null) {
            known.push(value);
            times.push(frame.times[i]!);
        }
    });
    const span = frame.times.length > 1 ? frame.times[frame.times.length - 1]! - frame.times[0]! : 1;
    const gap = frame.step > 1 ? 1.5 * Math.max(frame.step, frame.spacing) : Math.max(15, 3 * frame.spacing);
    return <Spark values={known} times={times} span={Math.max(span, 10)} gap={gap} label={`${counterText(track)}, ${latestText(track)}`} version={frame.version} />;
}

const narrow = matchMedia("(max-width: 44rem)");

function useNarrow(): boolean {
    const [isNarrow, setNarrow] = useState(narrow.matches);
    useEffect(() => {
        const changed = () => setNarrow(narrow.matches);
        narrow.addEventListener("change", changed);
        return () => narrow.removeEventListener("change", changed);
    }, []);
    return isNarrow;
}

interface RowProps {
    track: Track;
    frame: Frame;
    pins: string[];
    compared: string[];
    isNarrow: boolean; // the small chart goes below the name
}

function Row({ track, frame, pins, compared, isNarrow }: RowProps) {
    const tags = tagText(track);
    const name = counterText(track);
    const isPinned = pins.includes(track.key);
    const total = track.latest?.kind === "rate" && track.isRate ? track.latest.total : undefined;
    return (
        <tr data-key={track.key}>
            <td class="tick"><input type="checkbox" aria-label={`Compare ${name}`} checked={compared.includes(track.key)} onChange={() => setParams({ compare: toggled(compared, track.key) })} /></td>
            <td class="counter-name">
                <span class="mono">{track.name}</span>
                {track.displayName !== track.name && <small>{track.displayName}</small>}
                {tags && <small class="mono">{tags}</small>}
                {isNarrow && <Sparkline track={track} frame={frame} />}
            </td>
            {!isNarrow && <td class="sparkline"><Sparkline track={track} frame={frame} /></td>}
            <td class="number" data-value={rawLatest(track) ?? ""} data-time={track.latest?.time ?? ""} title={total === undefined ? undefined : `${inUnit(total, track.unit, false, track.name)} in all`}>{latestText(track)}</td>
            <td class="tick"><button type="button" class="plain" aria-pressed={isPinned} aria-label={`Pin ${name}`} title={isPinned ? "Unpin" : "Pin to the top"} onClick={() => setParams({ pin: toggled(pins, track.key) })}><Icon name="pin" /></button></td>
        </tr>
    );
}

function Group({ provider, tracks, frame, pins, compared }: { provider: string; tracks: Track[]; frame: Frame; pins: string[]; compared: string[] }) {
    const label = PROVIDERS[provider] ?? provider;
    const isNarrow = useNarrow();
    const [isOpen, setOpen] = useState(tracks.length <= STEP);
    const [most, setMost] = useState(STEP);
    const shown = isOpen ? tracks.slice(0, most) : [];
    return (
        <details class="card group" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary><h2>{label}</h2><span class="quiet">{label === provider ? "" : `${provider} · `}{tracks.length}</span></summary>
            <div class="scroll" tabIndex={0} role="region" aria-label={`Counters of ${label}`}>
                <table class="list counters">
                    <thead><tr><th scope="col"><span class="only-read">Compare</span></th><th scope="col">Counter</th>{!isNarrow && <th scope="col" class="sparkline">Shown time</th>}<th scope="col" class="number">Latest</th><th scope="col"><span class="only-read">Pin</span></th></tr></thead>
                    <tbody>{shown.map((track) => <Row key={track.key} track={track} frame={frame} pins={pins} compared={compared} isNarrow={isNarrow} />)}</tbody>
                </table>
            </div>
            {isOpen && tracks.length > most && (
                <div class="row more">
                    <button type="button" onClick={() => setMost(most + STEP)}>Show more</button>
                    <span class="quiet">{most} of {tracks.length} shown; search finds the others.</span>
                </div>
            )}
        </details>
    );
}

/* `live`: the latest values, also while the charts show the past. */
export function CounterList({ frame, live, isLive, route, query }: { frame: Frame; live: Frame | null; isLive: boolean; route: Route; query: string }) {
    const now = isLive ? frame : withLatest(frame, live);
    const groups = useMemo(() => groupsOf(now, query), [now, now.tracks.size, query]);
    const pins = keysOf(route, "pin");
    const compared = keysOf(route, "compare");
    if (groups.length === 0)
        return <Empty title="Nothing found">No counter has “{query}” in its name, provider or tags.</Empty>;
    return <>{groups.map(([provider, tracks]) => <Group key={provider} provider={provider} tracks={tracks} frame={now} pins={pins} compared={compared} />)}</>;
}

function withLatest(frame: Frame, live: Frame | null): Frame {
    for (const track of frame.tracks.values())
        track.latest = live?.tracks.get(track.key)?.latest ?? track.latest;
    return frame;
}
