/* Whether a process is there, what is known of it, and what was when it is no longer. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, reaches, type HistorySeries, type Process, type ProcessCounters } from "../../api";
import { session, upNow, useCell, useProcesses, useTopic } from "../../store";
import { forgetFrame } from "./use_frame";

export type Presence =
    | { state: "asking" }
    | { state: "unknown"; why?: string } // why the history could not be asked
    | { state: "here"; process: Process; wasHere: true }
    | { state: "ended"; process: Process; wasHere: boolean; lastSeen: number }; // seconds since 1970

interface Seen {
    processId: number;
    pid: number;
    name: string;
    runtime: string;
    user: string;
    container: string;
    commandLine: string;
    firstUtc: string;
    lastUtc: string;
}

/* A controller that has just started again knows of nobody for a moment. */
const PATIENCE_MS = 2500;
const SILENCE_MS = 4000; // of the counters of a process that is there

/* What nobody knows of may be known in a moment: the store keeps a process with its first points. */
const AGAIN_MS = 1000;
const AGAIN_MOST_MS = 15_000;

const DAY_SECONDS = 86400;
const NOBODY = /^[0-]+$/; // the uid of a process whose runtime does not say who it is

/* Of the tab's life: a process that ended is known by more than the history keeps. */
const known = new Map<number, { process: Process; at: number }>();

/* A runtime that does not answer, as of a process that is just dying, has no identity, and the process no name but its host's. It is the
 * one that was there, if it is as old. */
function identified(one: Process): Process {
    const before = known.get(one.pid)?.process;
    const isSame = before && !one.isReachable && NOBODY.test(one.uid) && one.upSeconds + 1 >= before.upSeconds;
    return isSame ? { ...before, upSeconds: one.upSeconds, isReachable: false, reason: one.reason, fix: one.fix } : one;
}

export function remember(process: Process): void {
    const before = known.get(process.pid);
    if (before && before.process.uid !== process.uid)
        forgetFrame(process.pid); // another one with the same pid
    known.set(process.pid, { process, at: Date.now() / 1000 });
}

/* It ran until now: the list of processes, by which it was last known, is as old as the last change in it. */
export function rememberEnd(pid: number): void {
    const process = known.get(pid)?.process;
    if (process)
        remember({ ...process, upSeconds: process.upSeconds > 0 ? upNow(process) : 0 });
}

export const rememberedOf = (pid: number) => known.get(pid);

function fromHistory(seen: Seen): Process {
    const { pid, name, runtime, user, container, commandLine } = seen;
    const upSeconds = (Date.parse(seen.lastUtc) - Date.parse(seen.firstUtc)) / 1000;
    return {
        pid, nsPid: pid, uid: `history-${seen.processId}`, name, runtime, user, container, commandLine, upSeconds,
        architecture: "", isReachable: true, reason: "", fix: "", rssBytes: 0, threadCount: 0,
    };
}

/* What is known by counters alone: for who may not read more. */
function fromCounters(pid: number, name: string): Process {
    return {
        pid, nsPid: pid, uid: `counters-${pid}`, name, runtime: "", user: "", container: "", commandLine: "", upSeconds: 0,
        architecture: "", isReachable: true, reason: "", fix: "", rssBytes: 0, threadCount: 0,
    };
}

interface Last {
    processId: number;
    name: string;
    time: string; // of its last point
}

/* The latest process of a pid by its kept counters, by days first: there the store finds a pid without telling of all others. "usage": of
 * CPU, which needs two looks at it, or of memory. */
async function lastOf(pid: number, step: number, from?: string): Promise<Last | null> {
    const query = new URLSearchParams({ pid: String(pid), provider: "process", counter: "usage", step: String(step), limit: "2000", ...(from ? { from } : {}) });
    const { series, isTruncated } = await get<{ series: HistorySeries[]; isTruncated: boolean }>(`history/counters?${query}`);
    if (isTruncated && series.length === 0)
        throw new Error("the controller had no time for it");
    const one = series.reduce<HistorySeries | null>((latest, other) => (latest && latest.processId > other.processId ? latest : other), null);
    const point = one?.points[one.points.length - 1];
    return one && point ? { processId: one.processId, name: one.process, time: point.time } : null;
}

/* Its row in the list of processes, by the day it was last seen. */
async function seenOf({ processId, name, time }: Last): Promise<Seen | null> {
    const query = new URLSearchParams({ process: name, from: time, limit: "1000" });
    const { processes } = await get<{ processes: Seen[] }>(`history/processes?${query}`);
    return processes.find((one) => one.processId === processId) ?? null;
}

async function askHistory(pid: number, mayRead: boolean): Promise<Presence> {
    try {
        const day = await lastOf(pid, DAY_SECONDS);
        const seen = day && mayRead ? await seenOf(day) : null;
        if (seen)
            return { state: "ended", process: fromHistory(seen), wasHere: false, lastSeen: Date.parse(seen.lastUtc) / 1000 };
        const last = day && await lastOf(pid, 60, day.time);
        return last ? { state: "ended", process: fromCounters(pid, last.name), wasHere: false, lastSeen: Date.parse(last.time) / 1000 + 60 } : { state: "unknown" };
    } catch (problem) {
        return { state: "unknown", why: (problem as Error).message };
    }
}

/* Asks until the history knows of it; what was ended by then is not told. */
function lookForIt(pid: number, mayRead: boolean, tell: (presence: Presence) => void): () => void {
    let isOver = false;
    let timer = 0;
    let pause = AGAIN_MS;
    const look = async () => {
        const presence = await askHistory(pid, mayRead);
        if (isOver)
            return;
        tell(presence);
        if (presence.state === "unknown")
            timer = window.setTimeout(() => void look(), pause);
        pause = Math.min(2 * pause, AGAIN_MOST_MS);
    };
    void look();
    return () => {
        isOver = true;
        clearTimeout(timer);
    };
}

/* The list of processes needs scope read; without it, the counters of a process tell that it is there. */
function useOne(pid: number, mayRead: boolean): { one: Process | null; isAbsent: boolean } {
    const list = useProcesses();
    const told = useTopic<ProcessCounters>(mayRead ? null : `counters/${pid}`);
    const [isSilent, setSilent] = useState(false);
    const isTold = told !== null && !told.hasEnded;
    useEffect(() => {
        setSilent(false);
        const timer = mayRead || isTold ? 0 : setTimeout(() => setSilent(true), SILENCE_MS);
        return () => clearTimeout(timer);
    }, [pid, mayRead, isTold]);
    if (mayRead) {
        const one = list?.find((process) => process.pid === pid) ?? null;
        return { one, isAbsent: list !== null && one === null };
    }
    return { one: isTold ? fromCounters(pid, told.name) : null, isAbsent: told?.hasEnded ?? isSilent };
}

export function usePresence(pid: number): Presence {
    const mayRead = reaches(useCell(session)?.scope ?? "none", "read");
    const { one: seen, isAbsent } = useOne(pid, mayRead);
    const one = seen && identified(seen);
    const [absent, setAbsent] = useState<Presence | null>(null);
    const wasHere = useRef(false);
    if (one)
        remember(one);
    else if (wasHere.current)
        rememberEnd(pid);
    wasHere.current = one !== null;
    const before = useRef(known.get(pid));
    before.current = known.get(pid) ?? before.current;
    useEffect(() => {
        setAbsent(null);
        if (!isAbsent)
            return undefined;
        let stop = () => {};
        const timer = setTimeout(() => {
            const { process, at } = before.current ?? {};
            if (process && at)
                setAbsent({ state: "ended", process, wasHere: true, lastSeen: at });
            else
                stop = lookForIt(pid, mayRead, setAbsent);
        }, before.current ? PATIENCE_MS : 400);
        return () => {
            clearTimeout(timer);
            stop();
        };
    }, [pid, isAbsent, mayRead]);
    if (one)
        return { state: "here", process: one, wasHere: true };
    return absent ?? (before.current ? { state: "here", process: before.current.process, wasHere: true } : { state: "asking" });
}
