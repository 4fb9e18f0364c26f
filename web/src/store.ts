/* What is live: processes, their latest counters, recordings, health. One copy a tab, fed by the
 * event stream; screens read it by hooks and are drawn again when it changes. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, get, reaches, type Counter, type Health, type Info, type Process, type ProcessCounters, type Recording, type Session } from "./api";
import { leaveOut, refusalOf, subscribe, watchRefusals, watchState, type StreamState } from "./stream";
import { useGuard } from "./ui/guard";

/* Something that can be read and watched. */
export class Cell<T> {
    #watchers = new Set<() => void>();

    constructor(public value: T) {}

    set(value: T): void {
        this.value = value;
        this.#watchers.forEach((watcher) => watcher());
    }

    watch(watcher: () => void): () => void {
        this.#watchers.add(watcher);
        return () => void this.#watchers.delete(watcher);
    }
}

export function useCell<T>(cell: Cell<T>): T {
    const [, redraw] = useState({});
    const { value } = cell;
    useEffect(() => {
        const end = cell.watch(() => redraw({}));
        if (cell.value !== value)
            redraw({}); // it was set after it was drawn and before it was watched
        return end;
    }, [cell]);
    return value;
}

export const session = new Cell<Session | null>(null);
export const info = new Cell<Info | null>(null);
export const connection = new Cell<StreamState>("connecting");
watchState((state) => {
    const before = connection.value;
    connection.set(state);
    if (session.value && before !== state && (before === "lost" || state === "lost"))
        void logIn(); // a log-in may have ended, another controller may be there
});

/* What is switched off is not asked for: the first segment of a topic is the resource behind it. */
info.watch(() => {
    const { hasCounters = true, disabled = [] } = info.value ?? {};
    leaveOut((topic) => {
        const resource = topic.split("/")[0]!;
        return disabled.includes(resource) || (resource === "counters" && !hasCounters);
    });
});

/* Who we are to the controller, and what it is. */
export async function logIn(): Promise<void> {
    try {
        session.set(await get<Session>("session"));
        info.set(await get<Info>("info"));
    } catch (problem) {
        if (!session.value || (problem instanceof ApiError && problem.status === 401))
            session.set({ name: "", kind: "nobody", scope: "none" });
    }
}

/* The messages of a topic while a screen is up; null before the first. */
export function useTopic<T>(topic: string | null): T | null {
    const [value, setValue] = useState<T | null>(null);
    useEffect(() => {
        setValue(null);
        return topic === null ? undefined : subscribe(topic, (data) => setValue(data as T));
    }, [topic]);
    return value;
}

/* Why nothing comes of a topic; undefined: it does, or will. */
export function useRefusal(topic: string): string | undefined {
    const [, redraw] = useState({});
    useEffect(() => watchRefusals(() => redraw({})), []);
    useCell(info);
    return refusalOf(topic);
}

/* What a log-in cannot read is not asked for. */
function useMayRead(): boolean {
    return reaches(useCell(session)?.scope ?? "none", "read");
}

/* When a process was started, in seconds since 1970: a list that comes late, or is shown again, makes it younger than it is. */
const starts = new Map<string, number>();

function startOf({ uid, pid, name, upSeconds }: Process): number {
    const key = `${uid} ${pid} ${name}`;
    const start = Math.min(Date.now() / 1000 - upSeconds, starts.get(key) ?? Infinity);
    starts.set(key, start);
    return start;
}

/* How long it has run by now. */
export function upNow(process: Process): number {
    return Date.now() / 1000 - startOf(process);
}

/* Draws again each second, while that is needed. */
export function useSeconds(isNeeded = true): void {
    const [, redraw] = useState({});
    useEffect(() => {
        const timer = isNeeded ? setInterval(() => redraw({}), 1000) : 0;
        return () => clearInterval(timer);
    }, [isNeeded]);
}

/* The list comes when it changes; how long a process runs goes on meanwhile. */
export function useProcesses(): Process[] | null {
    const message = useTopic<{ processes: Process[] }>(useMayRead() ? "processes" : null);
    return useMemo(() => message?.processes.map((one) => ({ ...one, upSeconds: upNow(one) })) ?? null, [message]);
}

export function useRecordings(): Recording[] | null {
    return useTopic<{ recordings: Recording[] }>(useMayRead() ? "recordings" : null)?.recordings ?? null;
}

export function useHealth(): Health | null {
    return useTopic<Health>("health");
}

/* What a chart of a counter shows: rates as rates, histograms by how often. */
export function chartValue(counter: Counter): number {
    if (counter.kind === "rate" || counter.kind === "histogram")
        return counter.rate ?? counter.value ?? 0;
    return counter.value ?? 0;
}

export interface LiveCounters {
    latest: ProcessCounters;
}

/* Of every process, by pid. */
const live = new Map<number, LiveCounters>();
const liveChanged = new Cell(0);
let users = 0;
let stop: (() => void) | null = null;

function takeAll(data: unknown): void {
    const { processes } = data as { processes: ProcessCounters[] };
    const here = new Set(processes.map((one) => one.pid));
    for (const message of processes)
        live.set(message.pid, { latest: message });
    for (const pid of live.keys()) {
        if (!here.has(pid))
            live.delete(pid);
    }
    liveChanged.set(liveChanged.value + 1);
}

/* Counters of all processes, by pid. The map is the same object from message to message. */
export function useCounters(): ReadonlyMap<number, LiveCounters> {
    const guard = useGuard();
    useEffect(() => {
        if (users++ === 0)
            stop = subscribe("counters", (data) => guard(() => takeAll(data)));
        return () => {
            if (--users === 0)
                stop?.();
        };
    }, []);
    useCell(liveChanged);
    return live;
}
