/* Threads at one moment, merged by where they are (docs/formats/stacks-json.md): what changed between two looks, and as text. */
import { isFramework } from "../../../flame/rows";

export interface StackFrame {
    name: string;
    kind: "managed" | "native" | "kernel" | "runtime";
    module?: string; // absent: nobody knows
    signature?: string;
    file?: string;
    line?: number;
}

/* By the port a thread has an id and a name only. */
export interface Thread {
    id: number;
    name: string;
    managedId?: number;
    doing?: "waiting" | "running" | "stopped";
    syscall?: string;
    exception?: string;
    message?: string;
    waitsFor?: number; // index in locks
    moves?: number; // the same at two looks: it has not run between them
}

export interface Place {
    threads: Thread[];
    frames: StackFrame[];
}

export interface Lock {
    object: string;
    type: string;
    kind: "monitor" | "Lock" | "static constructor";
    owner?: number;
    depth: number;
    waiters: number[];
    deadlock?: number;
}

export interface Task {
    count: number;
    object: string;
    state: number;
    waitsOn?: string;
    frames: StackFrame[];
}

/* Each waits for a lock that the next one holds, or a static constructor that it runs, and the last for one of the first. */
export type Circle = { thread: number; waitsFor: number; heldBy: number }[];

export interface Stacks {
    pid: number;
    process: string;
    time: string;
    source: string;
    threads: number;
    missing: number;
    places: Place[];
    locks?: Lock[];
    deadlocks?: Circle[];
    tasks?: Task[];
    pool?: { workers: number; queued: number; queuedLocal: number };
    remarks: string[];
}

/* Since when a thread has not run, in milliseconds since 1970, by its id; with the number that told. */
export type Still = Map<number, { moves: number; since: number }>;

export type Change = { kind: "new" } | { kind: "count"; by: number } | null;

export interface Seen {
    key: string;
    place: Place;
    own: StackFrame | null; // the innermost of the program's own
    change: Change;
}

export const keyOf = (place: Place): string => place.frames.map((frame) => `${frame.module ?? ""}!${frame.name}${frame.signature ?? ""}`).join("\n");
export const isOwn = (frame: StackFrame): boolean => frame.kind === "managed" && !isFramework(frame.module);
const ownOf = (place: Place): StackFrame | null => place.frames.find(isOwn) ?? null;

function changeOf(key: string, place: Place, before: Map<string, number> | null): Change {
    if (!before)
        return null;
    const was = before.get(key);
    if (was === undefined)
        return { kind: "new" };
    return was === place.threads.length ? null : { kind: "count", by: place.threads.length - was };
}

const counts = (stacks: Stacks): Map<string, number> => new Map(stacks.places.map((place) => [keyOf(place), place.threads.length]));

/* Own code first, then the most threads. */
export function compare(now: Stacks, before: Stacks | null): Seen[] {
    const then = before ? counts(before) : null;
    const seen = now.places.map((place): Seen => {
        const key = keyOf(place);
        return { key, place, own: ownOf(place), change: changeOf(key, place, then) };
    });
    return seen.sort((a, b) => Number(b.own !== null) - Number(a.own !== null) || b.place.threads.length - a.place.threads.length || (a.key < b.key ? -1 : 1));
}

/* One on a CPU of its own is not switched either, and does run: it begins anew at every look. */
export function stillOf(now: Stacks, before: Still): Still {
    const time = Date.parse(now.time);
    const still: Still = new Map();
    for (const { id, moves, doing } of now.places.flatMap((place) => place.threads)) {
        const was = before.get(id);
        if (moves !== undefined && doing !== "running")
            still.set(id, { moves, since: was?.moves === moves ? was.since : time });
    }
    return still;
}

/* How long all threads of a place have not run, in seconds; 0: one has, or it is not known. */
export function stillness(place: Place, still: Still, time: string): number {
    const all = place.threads.map((thread) => still.get(thread.id)?.since ?? Infinity);
    const latest = Math.max(...all);
    return Number.isFinite(latest) ? (Date.parse(time) - latest) / 1000 : 0;
}

/* What all threads of a place do: "waiting in futex"; "" when they differ or it is not known. */
export function doingOf(place: Place): string {
    const all = new Set(place.threads.map(({ doing, syscall }) => (doing ? `${doing}${syscall ? ` in ${syscall}` : ""}` : "")));
    return all.size === 1 ? [...all][0]! : "";
}

/* "main (4711)", as sonde stacks calls them. */
export function labelOf(stacks: Stacks, id: number): string {
    const thread = stacks.places.flatMap((place) => place.threads).find((one) => one.id === id);
    return thread?.name ? `${thread.name} (${id})` : id === stacks.pid ? `main (${id})` : `thread ${id}`;
}

export const isConstructor = (lock: Lock): boolean => lock.kind === "static constructor";

export function lockText(lock: Lock): string {
    if (isConstructor(lock))
        return `the static constructor of ${lock.type || "a type"}`;
    return `${lock.kind === "monitor" ? `the monitor of ${lock.type || "an object"}` : "the Lock"} at ${lock.object}`;
}

/* What its owner does with it. */
export const ownerVerb = (lock: Lock | undefined): string => (lock && isConstructor(lock) ? "run by" : "held by");

/* Places of before where nobody is any more. */
export function gone(now: Stacks, before: Stacks | null): number {
    const here = counts(now);
    return before ? before.places.filter((place) => !here.has(keyOf(place))).length : 0;
}

export function matches(seen: Seen, query: string): boolean {
    const wanted = query.toLowerCase();
    return wanted === "" || seen.key.toLowerCase().includes(wanted) || seen.place.threads.some((thread) => `${thread.name} ${thread.id}`.toLowerCase().includes(wanted));
}

export function namesOf(place: Place): [name: string, count: number][] {
    const names = new Map<string, number>();
    for (const thread of place.threads)
        names.set(thread.name || "(no name)", (names.get(thread.name || "(no name)") ?? 0) + 1);
    return [...names].sort((a, b) => b[1] - a[1]);
}

export function circleText(stacks: Stacks, circle: Circle): string {
    const steps = circle.map(({ waitsFor, heldBy }) => {
        const lock = stacks.locks?.[waitsFor];
        return `waits for ${lock ? lockText(lock) : "a lock"}, ${ownerVerb(lock)} ${labelOf(stacks, heldBy)}`;
    });
    return circle.length ? `${labelOf(stacks, circle[0]!.thread)} ${steps.join(", which ")}` : "a circle of locks that is too long to show, or has changed";
}

export function asText(stacks: Stacks, places: Seen[]): string {
    const parts = places.map(({ place }) => {
        const who = place.threads.map((thread) => `${thread.id}${thread.name ? ` "${thread.name}"` : ""}`).join(", ");
        const frames = place.frames.map((frame) => `    ${frame.name}${frame.signature ?? ""}${frame.module ? ` [${frame.module}]` : ""}${frame.file ? ` ${frame.file}:${frame.line ?? 0}` : ""}`);
        return `${place.threads.length} thread${place.threads.length === 1 ? "" : "s"}: ${who}\n${frames.join("\n")}`;
    });
    const circles = (stacks.deadlocks ?? []).map((circle) => `deadlock: ${circleText(stacks, circle)}\n`);
    return `${stacks.process} (${stacks.pid}), ${stacks.threads} threads at ${stacks.time}\n${circles.join("")}\n${parts.join("\n\n")}\n`;
}
