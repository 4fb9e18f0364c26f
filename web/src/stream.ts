/* A tab's end of the browser's one event stream (stream_worker.ts). */

type Taker = (data: unknown) => void;

export type StreamState = "connecting" | "open" | "lost";

interface Message {
    topic?: string;
    data?: string;
    refused?: { topic: string; why: string };
    state?: StreamState;
}

const takers = new Map<string, Set<Taker>>();
const latest = new Map<string, unknown>(); // for takers that come later: what a topic said last
const refusals = new Map<string, string>();
const refusalWatchers = new Set<() => void>();
const watchers = new Set<(state: StreamState) => void>();
let isOff: (topic: string) => boolean = () => false;
let state: StreamState = "connecting";
let port: MessagePort | null = null;

function openPort(): MessagePort {
    const address = new URL("assets/stream.js", document.baseURI);
    if (typeof SharedWorker !== "undefined")
        return new SharedWorker(address, { name: "sonde-stream" }).port;
    const channel = new MessageChannel();
    new Worker(address).postMessage(null, [channel.port2]);
    return channel.port1;
}

function hear(event: MessageEvent<Message>): void {
    const { topic, data, refused, state: next } = event.data;
    if (next && next !== state) {
        state = next;
        watchers.forEach((watcher) => watcher(state));
    }
    if (topic !== undefined && data !== undefined)
        take(topic, JSON.parse(data));
    if (refused)
        setRefusal(refused.topic, refused.why);
}

function take(topic: string, value: unknown): void {
    const set = takers.get(topic);
    if (!set)
        return;
    if (!isSequence(topic))
        latest.set(topic, value);
    setRefusal(topic, undefined);
    [...set].forEach((taker) => taker(value));
}

/* Logs and events are sequences: an old message is not the state of anything. */
function isSequence(topic: string): boolean {
    return topic.startsWith("logs/") || topic.startsWith("events/");
}

function setRefusal(topic: string, why: string | undefined): void {
    if (refusals.get(topic) === why)
        return;
    if (why === undefined)
        refusals.delete(topic);
    else
        refusals.set(topic, why);
    refusalWatchers.forEach((watcher) => watcher());
}

function say(message: unknown): void {
    if (!port) {
        port = openPort();
        port.onmessage = hear;
        addEventListener("pagehide", () => port?.postMessage({ bye: true }));
        addEventListener("pageshow", (event) => event.persisted && sayWanted());
        setInterval(sayWanted, 30_000); // we are still here
    }
    port.postMessage(message);
}

function wanted(): string[] {
    return [...takers.keys()].filter((topic) => !isOff(topic));
}

function sayWanted(): void {
    say({ want: wanted() });
}

/* Calls `taker` with every message of a topic, the latest one at once; returns how to end it. */
export function subscribe(topic: string, taker: Taker): () => void {
    const set = takers.get(topic) ?? new Set();
    takers.set(topic, set);
    set.add(taker);
    sayWanted();
    if (latest.has(topic))
        taker(latest.get(topic));
    return () => {
        set.delete(taker);
        if (set.size === 0 && takers.get(topic) === set) {
            takers.delete(topic);
            latest.delete(topic);
            refusals.delete(topic);
        }
        sayWanted();
    };
}

/* What the controller has switched off is not asked for. */
export function leaveOut(off: (topic: string) => boolean): void {
    isOff = off;
    if (takers.size > 0)
        sayWanted();
}

/* Why nothing comes of a topic; undefined: it does, or will. */
export function refusalOf(topic: string): string | undefined {
    return refusals.get(topic) ?? (isOff(topic) ? "The controller has this switched off." : undefined);
}

export function watchRefusals(watcher: () => void): () => void {
    refusalWatchers.add(watcher);
    return () => void refusalWatchers.delete(watcher);
}

export function watchState(watcher: (state: StreamState) => void): () => void {
    watchers.add(watcher);
    watcher(state);
    return () => void watchers.delete(watcher);
}

/* After a log-in: ask again at once. */
export function reconnect(): void {
    latest.clear();
    refusals.clear();
    say({ want: wanted(), retry: true });
}
