/* What every thread does now: stacks merged, own code first, marked by what changed and who has not moved since the last looks. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, path } from "../../api";
import { clean, clock } from "../../format";
import { setParams } from "../../route";
import { Card, CopyButton, Empty, Field, Loading, Notice } from "../../ui/parts";
import { Plans, RangeBar } from "./charts";
import { Deadlocks, Locks } from "./locks";
import { PlaceRow } from "./place_row";
import { asText, compare, gone, matches, stillOf, type Seen, type Stacks, type Still } from "./stacks";
import { Tasks } from "./tasks";
import type { TabProps } from "./tab";

const AUTO: [seconds: number, label: string][] = [[0, "by hand"], [1, "every second"], [2, "every 2 s"], [3, "every 3 s"], [5, "every 5 s"]];

const USUAL = 3;

/* Only what is offered: an address may say anything, and each look costs the process something. */
function everyOf(text: string | null): number {
    return AUTO.find(([seconds]) => String(seconds) === text)?.[0] ?? USUAL;
}

/* What is looked at besides. */
interface Wanted {
    native: boolean;
    async: boolean;
}

interface Looks {
    now: Stacks | null;
    before: Stacks | null;
    still: Still;
    error: string | null;
    isBusy: boolean;
}

/* The last two looks; asked again each `every` seconds, if not 0, while the tab is visible. */
function useStacks(pid: number | null, every: number, { native, async }: Wanted): [Looks, () => void] {
    const [looks, setLooks] = useState<Looks>({ now: null, before: null, still: new Map(), error: null, isBusy: false });
    const busy = useRef(false);
    const look = async () => {
        if (pid === null || busy.current)
            return;
        busy.current = true;
        setLooks((was) => ({ ...was, isBusy: true }));
        try {
            const now = await get<Stacks>(`${path`processes/${pid}/stacks`}?lines=true&native=${native}&async=${async}`);
            setLooks((was) => ({ now, before: was.now, still: stillOf(now, was.still), error: null, isBusy: false }));
        } catch (problem) {
            const isBusy = problem instanceof ApiError && problem.status === 429; // somebody else looks: then a moment later
            setLooks((was) => ({ ...was, error: isBusy ? was.error : (problem as Error).message, isBusy: false }));
        }
        busy.current = false;
    };
    useEffect(() => void look(), [pid, native, async]);
    useEffect(() => {
        if (every === 0 || pid === null)
            return undefined;
        const timer = setInterval(() => document.hidden || void look(), every * 1000);
        return () => clearInterval(timer);
    }, [pid, every, native, async]);
    return [looks, () => void look()];
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

/* How they were come by, and what is missing. */
function Source({ stacks }: { stacks: Stacks }) {
    return (
        <div class="quiet source" data-testid="stacks-source">
            {stacks.source && <>From {clean(stacks.source)}.</>}
            {stacks.remarks.map((remark, i) => <p key={i}>{clean(remark)}</p>)}
        </div>
    );
}

function Switch({ name, label, isOn }: { name: string; label: string; isOn: boolean }) {
    return <label class="check"><input type="checkbox" checked={isOn} onChange={(event) => setParams({ [name]: event.currentTarget.checked ? "1" : undefined })} /> {label}</label>;
}

export function ThreadsTab({ pid, hasEnded, route, view, window }: TabProps) {
    const every = everyOf(route.params.get("auto"));
    const query = route.params.get("q") ?? "";
    const wanted: Wanted = { native: route.params.get("native") === "1", async: route.params.get("async") === "1" };
    const [looks, look] = useStacks(hasEnded ? null : pid, hasEnded ? 0 : every, wanted);
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
                <Switch name="native" label="Native frames" isOn={wanted.native} />
                <Switch name="async" label="Async methods" isOn={wanted.async} />
                <button type="button" onClick={look} disabled={looks.isBusy || hasEnded}>Look now</button>
                {looks.now && <CopyButton text={() => asText(looks.now!, shown)} label="Copy as text" />}
                <Summary looks={looks} seen={seen} />
            </div>
            {looks.error && !hasEnded && <Notice mood="warn">The stacks cannot be taken: {looks.error}</Notice>}
            {hasEnded && !looks.now && <Notice>Stacks are taken of a running process, and it has ended.</Notice>}
            {!looks.now && !looks.error && !hasEnded && <Loading what="Taking the stacks…" />}
            {looks.now && <Deadlocks stacks={looks.now} />}
            {looks.now && (shown.length
                ? <Card flush><div class="entries">{shown.map((one) => <PlaceRow key={one.key} seen={one} stacks={looks.now!} still={looks.still} />)}</div></Card>
                : <Empty title="Nothing found">No thread is at a place with “{query}”.</Empty>)}
            {looks.now && <Locks stacks={looks.now} />}
            {looks.now && <Tasks stacks={looks.now} />}
            {looks.now && <Source stacks={looks.now} />}
            <RangeBar window={window} hasEnded={hasEnded} />
            <Plans ids={["threads", "pool", "cpu-mode"]} view={view} window={window} />
        </>
    );
}
