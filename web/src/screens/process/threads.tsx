/* Where every thread is now: stacks merged, own code first, marked by what changed since the last look. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, path } from "../../api";
import { clock } from "../../format";
import { setParams } from "../../route";
import { Badge, Card, CopyButton, Empty, Field, Loading, Notice } from "../../ui/parts";
import { Plans, RangeBar } from "./charts";
import { isFramework } from "../../../flame/rows";
import { asText, compare, gone, matches, namesOf, type Change, type Seen, type StackFrame, type Stacks } from "./stacks";
import type { TabProps } from "./tab";

const AUTO: [seconds: number, label: string][] = [[0, "by hand"], [2, "every 2 s"], [3, "every 3 s"], [5, "every 5 s"]];

const USUAL = 3;

/* Only what is offered: an address may say anything, and each look costs the process something. */
function everyOf(text: string | null): number {
    return AUTO.find(([seconds]) => String(seconds) === text)?.[0] ?? USUAL;
}

interface Looks {
    now: Stacks | null;
    before: Stacks | null;
    error: string | null;
    isBusy: boolean;
}

/* The last two looks; asked again each `every` seconds, if not 0, while the tab is visible. */
function useStacks(pid: number | null, every: number): [Looks, () => void] {
    const [looks, setLooks] = useState<Looks>({ now: null, before: null, error: null, isBusy: false });
    const busy = useRef(false);
    const look = async () => {
        if (pid === null || busy.current)
            return;
        busy.current = true;
        setLooks((was) => ({ ...was, isBusy: true }));
        try {
            const now = await get<Stacks>(path`processes/${pid}/stacks`);
            setLooks((was) => ({ now, before: was.now, error: null, isBusy: false }));
        } catch (problem) {
            const isBusy = problem instanceof ApiError && problem.status === 429; // somebody else looks: then a moment later
            setLooks((was) => ({ ...was, error: isBusy ? was.error : (problem as Error).message, isBusy: false }));
        }
        busy.current = false;
    };
    useEffect(() => void look(), [pid]);
    useEffect(() => {
        if (every === 0 || pid === null)
            return undefined;
        const timer = setInterval(() => document.hidden || void look(), every * 1000);
        return () => clearInterval(timer);
    }, [pid, every]);
    return [looks, () => void look()];
}

function ChangeBadge({ change }: { change: Change }) {
    if (!change)
        return null;
    if (change.kind === "new")
        return <Badge mood="accent" title="Nobody was here at the last look">new</Badge>;
    return <Badge mood="accent" title="More or fewer threads than at the last look">{change.by > 0 ? `+${change.by}` : `−${-change.by}`}</Badge>;
}

function frameTitle({ name, signature, module, file, line }: StackFrame): string {
    return `${name}${signature ?? ""} ${module ?? ""}${file ? ` ${file}:${line ?? 0}` : ""}`;
}

function Frames({ frames }: { frames: StackFrame[] }) {
    return (
        <ol class="frames">
            {frames.map((frame, i) => (
                <li key={i} class={isFramework(frame.module) ? "framework" : "own"} title={frameTitle(frame)}>
                    {frame.name} <small>{frame.file ? `${frame.file.replace(/^.*[\\/]/, "")}:${frame.line ?? 0}` : frame.module}</small>
                </li>
            ))}
        </ol>
    );
}

function PlaceRow({ seen }: { seen: Seen }) {
    const [isOpen, setOpen] = useState(false);
    const { place, own } = seen;
    const inner = place.frames[0];
    const names = namesOf(place);
    return (
        <details class="entry place-row" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                <b class="count" data-value={place.threads.length}>{place.threads.length}</b>
                <span class="message">
                    <span class={`mono ${own ? "own" : "framework"}`}>{(own ?? inner)?.name ?? "no managed code"}</span>
                    {own && inner && own !== inner && <span class="mono framework"> in {inner.name}</span>}
                    <small class="quiet">{names.slice(0, 3).map(([name, count]) => (count > 1 ? `${name} × ${count}` : name)).join(", ")}{names.length > 3 ? ` and ${names.length - 3} more names` : ""}</small>
                </span>
                <ChangeBadge change={seen.change} />
            </summary>
            {isOpen && (
                <div class="inside">
                    <Frames frames={place.frames} />
                    <p class="quiet">Threads {place.threads.map((thread) => thread.id).join(", ")}</p>
                </div>
            )}
        </details>
    );
}

function Summary({ looks: { now, before }, seen }: { looks: Looks; seen: Seen[] }) {
    if (!now)
        return null;
    const fresh = seen.filter((one) => one.change?.kind === "new").length;
    const left = gone(now, before);
    const changes = before ? `; since ${clock(new Date(before.time))}: ${fresh} new, ${left} gone` : "";
    return (
        <span class="quiet" data-testid="threads-count" data-value={now.threads}>
            {now.threads} threads in {now.places.length} places at {clock(new Date(now.time))}{changes}
            {now.missing > 0 && `; ${now.missing} samples found no room`}
        </span>
    );
}

export function ThreadsTab({ pid, hasEnded, route, view, window }: TabProps) {
    const every = everyOf(route.params.get("auto"));
    const query = route.params.get("q") ?? "";
    const [looks, look] = useStacks(hasEnded ? null : pid, hasEnded ? 0 : every);
    const seen = looks.now ? compare(looks.now, looks.before) : [];
    const shown = seen.filter((one) => matches(one, query));
    return (
        <>
            <div class="row tools">
                <Field label="Search">
                    <input type="search" value={query} placeholder="Method, module or thread" onInput={(event) => setParams({ q: event.currentTarget.value })} />
                </Field>
                <Field label="Look again">
                    <select value={String(every)} onChange={(event) => setParams({ auto: event.currentTarget.value === String(USUAL) ? undefined : event.currentTarget.value })}>
                        {AUTO.map(([seconds, label]) => <option key={seconds} value={String(seconds)}>{label}</option>)}
                    </select>
                </Field>
                <button type="button" onClick={look} disabled={looks.isBusy || hasEnded}>Look now</button>
                {looks.now && <CopyButton text={() => asText(looks.now!, shown)} label="Copy as text" />}
                <Summary looks={looks} seen={seen} />
            </div>
            {looks.error && !hasEnded && <Notice mood="warn">The stacks cannot be taken: {looks.error}</Notice>}
            {hasEnded && !looks.now && <Notice>Stacks are taken of a running process, and it has ended.</Notice>}
            {!looks.now && !looks.error && !hasEnded && <Loading what="Taking the stacks…" />}
            {looks.now && (shown.length
                ? <Card flush><div class="entries">{shown.map((one) => <PlaceRow key={one.key} seen={one} />)}</div></Card>
                : <Empty title="Nothing found">No thread is at a place with “{query}”.</Empty>)}
            <RangeBar window={window} hasEnded={hasEnded} />
            <Plans ids={["threads", "pool", "cpu-mode"]} view={view} window={window} />
        </>
    );
}
