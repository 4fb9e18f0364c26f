/* The live recordings of a process: what flame graphs and tables of a running process are read from. One for all who look at the same
 * of a process, in this tab and in others (the controller gives everybody the same one); it asks the runtime for what the view shows and
 * no more. It is started when the first looks, kept while
 * somebody does and the tab is visible, and started anew after its end; when nobody looks any more, the controller deletes it. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, path, post, reaches, type Recording } from "./api";
import { Cell, session, useCell } from "./store";

/* What a view needs: docs/profiles.md. */
export type LiveProfile = "live-cpu" | "live-alloc" | "live-exceptions" | "live-locks" | "live-gc" | "live-requests";

export type LiveState =
    | "off" // nobody asked for it yet
    | "refused" // the log-in's scope does not reach: nothing will come
    | "starting"
    | "running"
    | "failed"; // `error` says why; it is tried again every few seconds

export interface Live {
    id: string | null; // the recording, once it has something to read; another one after its end
    state: LiveState;
    error: string | null;
    since: number; // the controller's clock, in seconds since 1970: one looks at this; 0: not yet
    quiet: number; // nobody looked at anything of this process before
}

const OFF: Live = { id: null, state: "off", error: null, since: 0, quiet: 0 };
export const LINGERS_SECONDS = 30; // after the last read
const BEAT_MS = 4000;
const START_MS = 600; // until it has data
const FAILED_MOST_MS = 60_000;
const UNREAD_MS = 12_000; // the controller gives up 30 s after the last read

/* Of each process: since when there has been a live recording without a break (the controller's clock), and until when (the page's own
 * monotonic one: the two are never compared). A tab after another is no fresh start. */
const looks = new Map<number, { from: number; to: number }>();

const pageSeconds = (): number => performance.now() / 1000;

function quietBefore(pid: number, since: number): number {
    const before = looks.get(pid);
    return before && before.to + LINGERS_SECONDS > pageSeconds() ? before.from : since;
}

class Watch {
    readonly cell = new Cell<Live>(OFF);
    #id: string | null = null; // also while it has no data yet
    #users = 0;
    #timer = 0;
    #isBusy = false;
    #readAt = 0;
    #failures = 0; // since there was something to read
    #isFailing = false; // the last look failed

    constructor(readonly pid: number, readonly profile: LiveProfile) {}

    hold(): void {
        if (this.#users++ === 0)
            void this.beat();
    }

    release(): void {
        if (--this.#users > 0)
            return;
        clearTimeout(this.#timer);
        if (this.cell.value.since)
            looks.set(this.pid, { from: this.cell.value.quiet, to: pageSeconds() });
        this.cell.set(OFF);
        watches.delete(keyOf(this.pid, this.profile));
    }

    touch(): void {
        this.#readAt = Date.now();
    }

    async beat(): Promise<void> {
        if (this.#isBusy || this.#users === 0)
            return;
        this.#isBusy = true;
        clearTimeout(this.#timer);
        try {
            if (!document.hidden) {
                await this.#look();
                this.#isFailing = false;
            }
        } catch (problem) {
            this.#failures++;
            this.#isFailing = true;
            this.#set({ ...this.cell.value, ...failure(problem) });
        }
        this.#isBusy = false;
        if (this.#users > 0)
            this.#timer = setTimeout(() => void this.beat(), this.#pause()) as unknown as number;
    }

    #pause(): number {
        if (this.#isFailing)
            return Math.min(FAILED_MOST_MS, BEAT_MS * 2 ** (this.#failures - 1));
        return document.hidden || this.cell.value.state === "running" ? BEAT_MS : START_MS;
    }

    /* The one we have, if it still runs; else another. What was read of the old one stays until the new one has data. */
    async #look(): Promise<void> {
        const now = this.#id === null ? null : await find(this.#id);
        if (now !== null && isUnderWay(now)) {
            this.#show(now);
            await this.#keep(now);
            return;
        }
        if (now?.state === "Failed") {
            this.#id = null;
            throw new Error(now.message || "The recording failed.");
        }
        if (now === null && this.#failures === 0)
            this.#set({ ...this.cell.value, id: null, state: "starting", error: null });
        const made = await post<Recording>("recordings", { kind: "trace", process: { pid: this.pid }, live: true, profile: this.profile });
        this.#id = made.id;
        this.touch();
        this.#show(made);
    }

    /* What failed is tried again quietly: its error stays until there is something to read. */
    #show(recording: Recording): void {
        if (recording.state === "Running" && recording.fileBytes > 0) {
            this.#failures = 0;
            const since = this.cell.value.since || Date.parse(recording.startedUtc ?? "") / 1000 || 0;
            const quiet = this.cell.value.quiet || quietBefore(this.pid, since);
            looks.set(this.pid, { from: quiet, to: pageSeconds() });
            this.#set({ id: recording.id, state: "running", error: null, since, quiet });
        } else if (this.#failures === 0) {
            this.#set({ ...this.cell.value, state: "starting", error: null });
        }
    }

    /* Who looks at a paused picture reads nothing; its recording shall go on nevertheless. */
    async #keep({ id, fileBytes }: Recording): Promise<void> {
        if (fileBytes === 0 || Date.now() - this.#readAt < UNREAD_MS)
            return;
        this.touch();
        await get(path`recordings/${id}/report?sections=file`).catch(ignoreBusy);
    }

    #set(next: Live): void {
        const now = this.cell.value;
        if (this.#users > 0 && (now.id !== next.id || now.state !== next.state || now.error !== next.error))
            this.cell.set(next);
    }
}

const watches = new Map<string, Watch>();
const keyOf = (pid: number, profile: LiveProfile): string => `${pid} ${profile}`;

document.addEventListener("visibilitychange", () => {
    if (!document.hidden)
        watches.forEach((watch) => void watch.beat());
});

function watchOf(pid: number, profile: LiveProfile): Watch {
    const watch = watches.get(keyOf(pid, profile)) ?? new Watch(pid, profile);
    watches.set(keyOf(pid, profile), watch);
    return watch;
}

function isUnderWay(recording: Recording): boolean {
    return recording.state === "Running" || recording.state === "Starting" || recording.state === "Configured";
}

/* null: it has gone. */
async function find(id: string): Promise<Recording | null> {
    try {
        return await get<Recording>(path`recordings/${id}`);
    } catch (problem) {
        if (problem instanceof ApiError && problem.status === 404)
            return null;
        throw problem;
    }
}

function failure(problem: unknown): { state: LiveState; error: string } {
    const error = problem instanceof Error ? problem.message : String(problem);
    return { state: problem instanceof ApiError && problem.status === 403 ? "refused" : "failed", error };
}

function ignoreBusy(problem: unknown): void {
    if (!(problem instanceof ApiError && (problem.status === 409 || problem.status === 404 || problem.status === 429)))
        throw problem;
}

/* Says that the recording was read: profiles and reports that screens read keep it alive. */
export function touchLive(pid: number, profile: LiveProfile): void {
    watches.get(keyOf(pid, profile))?.touch();
}

/* The live recording of a process while a component is up; null: of none. */
export function useLive(pid: number | null, profile: LiveProfile): Live {
    const who = useCell(session);
    const mayRecord = who !== null && reaches(who.scope, "control");
    const [live, setLive] = useState<Live>(OFF);
    useEffect(() => {
        if (pid === null || !mayRecord) {
            setLive(OFF);
            return undefined;
        }
        const watch = watchOf(pid, profile);
        setLive(watch.cell.value); // not what another profile had
        const unwatch = watch.cell.watch(() => setLive(watch.cell.value));
        watch.hold();
        setLive(watch.cell.value);
        return () => {
            unwatch();
            watch.release();
        };
    }, [pid, profile, mayRecord]);
    return pid !== null && who !== null && !mayRecord
        ? { ...OFF, state: "refused", error: "Recording needs a log-in with scope control." }
        : live;
}
