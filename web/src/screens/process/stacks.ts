/* Threads at one moment, merged by where they are (docs/formats/stacks-json.md): what changed between two looks, and as text. */
import { isFramework } from "../../../flame/rows";

export interface StackFrame {
    name: string;
    module?: string; // absent: nobody knows
    signature?: string;
    file?: string;
    line?: number;
}

export interface Place {
    threads: { id: number; name: string }[];
    frames: StackFrame[];
}

export interface Stacks {
    pid: number;
    process: string;
    time: string;
    threads: number;
    missing: number;
    places: Place[];
}

export type Change = { kind: "new" } | { kind: "count"; by: number } | null;

export interface Seen {
    key: string;
    place: Place;
    own: StackFrame | null; // the innermost of the program's own
    change: Change;
}

export const keyOf = (place: Place): string => place.frames.map((frame) => `${frame.module ?? ""}!${frame.name}${frame.signature ?? ""}`).join("\n");
const ownOf = (place: Place): StackFrame | null => place.frames.find((frame) => !isFramework(frame.module)) ?? null;

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

export function asText(stacks: Stacks, places: Seen[]): string {
    const parts = places.map(({ place }) => {
        const who = place.threads.map((thread) => `${thread.id}${thread.name ? ` "${thread.name}"` : ""}`).join(", ");
        const frames = place.frames.map((frame) => `    ${frame.name}${frame.signature ?? ""}${frame.module ? ` [${frame.module}]` : ""}${frame.file ? ` ${frame.file}:${frame.line ?? 0}` : ""}`);
        return `${place.threads.length} thread${place.threads.length === 1 ? "" : "s"}: ${who}\n${frames.join("\n")}`;
    });
    return `${stacks.process} (${stacks.pid}), ${stacks.threads} threads at ${stacks.time}\n\n${parts.join("\n\n")}\n`;
}
