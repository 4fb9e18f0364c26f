/* Reads a profile and keeps it up to date while it grows: every two seconds only what changed. */
import { useEffect, useState } from "preact/hooks";
import type { Weights } from "../../../flame/profile";
import { FrameTable, Rows } from "../../../flame/rows";
import { ApiError, get, type FlameRows } from "../../api";
import { Cell, useCell } from "../../store";

const POLL_MS = 2000;
const RETRY_MS = 4000;
const KEPT_SECONDS = 75; // earlier states, for "the last minute"

export interface FeedSource {
    recording: string;
    view: string;
    process?: string | undefined;
    from?: number | undefined;
    to?: number | undefined;
    nodes: number;
}

const FRAMES_MAX = 200_000;
let table = new FrameTable();

/* One for all profiles that a tab reads: any two can be compared then. It only grows, so one day a screen gets a new one. */
export function sharedTable(): FrameTable {
    if (table.frames.name.length > FRAMES_MAX)
        table = new FrameTable();
    return table;
}

interface Earlier {
    seconds: number;
    epoch: number;
    weights: Weights;
}

export function profilePath(source: FeedSource, since: number): string {
    const query = new URLSearchParams({ view: source.view, nodes: String(source.nodes), lines: "true" });
    for (const name of ["process", "from", "to"] as const) {
        if (source[name] !== undefined && source[name] !== "")
            query.set(name, String(source[name]));
    }
    if (since)
        query.set("since", String(since));
    return `recordings/${encodeURIComponent(source.recording)}/profile?${query}`;
}

export class Feed {
    readonly rows: Rows;
    readonly changed = new Cell(0); // counts up with each state
    error: ApiError | null = null;
    isPaused = false;
    isRead = false; // an answer came, be it without any event
    readonly #earlier: Earlier[] = [];
    readonly #abort = new AbortController();
    #timer = 0;
    #isBusy = false;

    constructor(readonly source: FeedSource, table: FrameTable, readonly keepsEarlier: boolean, readonly onRead: () => void) {
        this.rows = new Rows(table);
        document.addEventListener("visibilitychange", () => void this.#poll(), { signal: this.#abort.signal });
        void this.#poll();
    }

    stop(): void {
        this.#abort.abort();
        clearTimeout(this.#timer);
    }

    setPaused(isPaused: boolean): void {
        this.isPaused = isPaused;
        this.changed.set(this.changed.value);
        if (!isPaused)
            void this.#poll();
    }

    /* The state of about that many seconds before the latest; null: it was not there yet, or is numbered otherwise. */
    earlier(seconds: number): Earlier | null {
        const wanted = this.rows.durationSeconds - seconds;
        let found: Earlier | null = null;
        for (const one of this.#earlier) {
            if (one.epoch === this.rows.epoch && (found === null || one.seconds <= wanted))
                found = one;
        }
        return found;
    }

    async #poll(): Promise<void> {
        clearTimeout(this.#timer);
        if (this.#isBusy || this.isPaused || document.hidden || this.#abort.signal.aborted)
            return;
        this.#isBusy = true;
        try {
            await this.#read();
            this.error = null;
        } catch (problem) {
            if (!this.#abort.signal.aborted)
                this.error = problem instanceof ApiError ? problem : new ApiError(0, "not readable", String(problem));
        }
        this.#isBusy = false;
        if (this.#abort.signal.aborted)
            return;
        this.changed.set(this.changed.value + 1);
        const isOver = this.error ? this.error.status === 404 || this.error.status === 403 || this.error.status === 422 : this.rows.isComplete;
        if (!isOver)
            this.#timer = setTimeout(() => void this.#poll(), this.error ? RETRY_MS : POLL_MS) as unknown as number;
    }

    async #read(): Promise<void> {
        const { signal } = this.#abort;
        this.onRead();
        let answer = await get<FlameRows>(profilePath(this.source, this.rows.version), signal);
        if (!this.rows.take(answer)) {
            answer = await get<FlameRows>(profilePath(this.source, 0), signal);
            this.rows.take({ ...answer, since: 0 });
        }
        this.isRead = true;
        if (this.keepsEarlier)
            this.#remember();
    }

    #remember(): void {
        const { durationSeconds: seconds, epoch } = this.rows;
        if (this.#earlier.at(-1)?.seconds === seconds)
            return;
        this.#earlier.push({ seconds, epoch, weights: this.rows.weights() });
        while (this.#earlier.length > 1 && (this.#earlier[0]!.seconds < seconds - KEPT_SECONDS || this.#earlier[0]!.epoch !== epoch))
            this.#earlier.shift();
    }
}

const NOTHING = new Cell(0);

/* What is read, however much of it. */
const subjectOf = (source: FeedSource): string => profilePath({ ...source, nodes: 0 }, 0);

/* A feed while a component is up; null: there is nothing to read yet. */
export function useFeed(source: FeedSource | null, table: FrameTable, keepsEarlier: boolean, onRead: () => void): Feed | null {
    const [feed, setFeed] = useState<Feed | null>(null);
    const key = source ? profilePath(source, 0) : "";
    useEffect(() => {
        if (!source) {
            setFeed(null);
            return undefined;
        }
        const made = new Feed(source, table, keepsEarlier, onRead);
        setFeed(made);
        return () => made.stop();
    }, [key, table]);
    useCell(feed?.changed ?? NOTHING);
    return feed && source && subjectOf(feed.source) === subjectOf(source) ? feed : null; // that of before is of something else
}
