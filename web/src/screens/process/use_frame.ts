/* The frame that a view of a process looks at: live, or of the range and zoom that the address names. */
import { useEffect, useState } from "preact/hooks";
import { get, type HistorySeries, type ProcessCounters } from "../../api";
import type { Route } from "../../route";
import { info, useCell } from "../../store";
import { subscribe } from "../../stream";
import { useGuard } from "../../ui/guard";
import { Pace } from "./pace";
import { emptyFrame, historyFrame, isCut, LIVE_SECONDS, refill, slice, take, type Frame } from "./frames";

/* Seconds back from now; the first one is live. */
export const RANGES: [id: string, label: string, seconds: number][] = [
    ["5m", "Live", LIVE_SECONDS],
    ["1h", "1 h", 3600],
    ["24h", "24 h", 86400],
    ["7d", "7 d", 604800],
];

const POINTS = 240; // of a chart from the history
const ASK_MOST = 100_000; // points of one answer

/* The last few processes one looked at: what came meanwhile is put in when one comes back. */
const frames = new Map<number, Frame>();
const KEPT = 4;

function liveFrame(pid: number): Frame {
    const frame = frames.get(pid) ?? emptyFrame();
    frames.delete(pid);
    frames.set(pid, frame);
    for (const other of frames.keys()) {
        if (frames.size > KEPT)
            frames.delete(other);
    }
    return frame;
}

/* A process that has the pid of one that ended. */
export function forgetFrame(pid: number): void {
    frames.delete(pid);
}

interface History {
    series: HistorySeries[];
    isTruncated: boolean;
}

async function askHistory(pid: number, from: string, to: string, step: number, signal: AbortSignal): Promise<History> {
    const query = new URLSearchParams({ pid: String(pid), from, step: String(step), limit: String(ASK_MOST) });
    if (to)
        query.set("to", to);
    return get<History>(`history/counters?${query}`, signal);
}

/* Messages of one process, put into its live frame; drawn again at each. */
export function useLiveFrame(pid: number | null): Frame | null {
    const [, redraw] = useState(0);
    const hasStore = useCell(info)?.hasStore ?? false;
    const guard = useGuard();
    useEffect(() => {
        if (pid === null)
            return undefined;
        const frame = liveFrame(pid);
        const ask = new AbortController();
        const pace = new Pace(() => redraw((count) => count + 1));
        const fill = () => {
            askHistory(pid, `-${LIVE_SECONDS}s`, "", 0, ask.signal)
                .then(({ series, isTruncated }) => guard(() => {
                    if (!ask.signal.aborted)
                        refill(frame, series, isTruncated);
                    pace.ask();
                }))
                .catch(() => undefined); // then the chart begins now, or has a gap
        };
        let isFirst = true;
        const stop = subscribe(`counters/${pid}`, (data) => guard(() => {
            const isLate = take(frame, data as ProcessCounters);
            if ((isFirst || isLate) && hasStore && frame.times.length) {
                isFirst = false;
                fill();
            }
            pace.ask();
        }));
        return () => {
            ask.abort();
            stop();
            pace.end();
        };
    }, [pid, hasStore]);
    return pid === null ? null : liveFrame(pid);
}

export interface Window {
    range: string;
    from: number | null; // zoomed: seconds since 1970
    to: number | null;
    isChosen: boolean; // the zoom is in the address, not ours
}

export function windowOf(route: Route): Window {
    const range = route.params.get("range") ?? "5m";
    const from = Number(route.params.get("from"));
    const to = Number(route.params.get("to"));
    const isZoomed = from > 0 && to > from;
    return { range: RANGES.some(([id]) => id === range) ? range : "5m", from: isZoomed ? from : null, to: isZoomed ? to : null, isChosen: isZoomed };
}

interface Span {
    from: string;
    to: string;
    step: number;
}

function spanOf({ range, from, to }: Omit<Window, "isChosen">): Span {
    if (from !== null && to !== null) {
        const step = Math.ceil((to - from) / POINTS);
        return { from: iso(from), to: iso(to), step: step <= 2 ? 0 : step };
    }
    const seconds = RANGES.find(([id]) => id === range)?.[2] ?? LIVE_SECONDS;
    return { from: `-${seconds}s`, to: "", step: Math.ceil(seconds / POINTS) };
}

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();

export interface View {
    frame: Frame | null; // null: not there yet
    isLive: boolean;
    error: string | null;
}

function isWithin(frame: Frame | null, { from }: Window): boolean {
    return frame !== null && from !== null && frame.times.length > 0 && frame.times[0]! <= from + 2;
}

/* A process that lived for minutes in a day that is asked for: its minutes, by finer steps. */
export async function askWindow(pid: number, span: Span, live: Frame | null, signal: AbortSignal): Promise<Frame> {
    const read = async (from: string, to: string, step: number): Promise<Frame> => {
        const { series, isTruncated } = await askHistory(pid, from, to, step, signal);
        return historyFrame(series, step, live, isTruncated);
    };
    const frame = await read(span.from, span.to, span.step);
    const first = frame.times[0];
    if (first === undefined || isCut(frame) || span.step <= 1 || frame.times.length > POINTS / 6)
        return frame;
    const last = frame.times[frame.times.length - 1]! + span.step;
    const step = Math.ceil((last - first) / POINTS);
    return read(iso(first), iso(last), step <= 2 ? 0 : step);
}

/* The store's answer for a window, asked again as time goes by. */
function useHistory(pid: number | null, window: Window, live: Frame | null): { frame: Frame | null; error: string | null } {
    const [answer, setAnswer] = useState<{ frame: Frame | null; error: string | null }>({ frame: null, error: null });
    const { range, from, to } = window;
    useEffect(() => {
        setAnswer({ frame: null, error: null });
        if (pid === null)
            return undefined;
        const ask = new AbortController();
        const span = spanOf({ range, from, to });
        let isLate = true; // what is shown is older than it should be
        const read = async () => {
            try {
                setAnswer({ frame: await askWindow(pid, span, live, ask.signal), error: null });
                isLate = false;
            } catch (problem) {
                if (!ask.signal.aborted)
                    setAnswer((before) => ({ ...before, error: (problem as Error).message }));
            }
        };
        const again = () => {
            if (document.hidden)
                isLate = true;
            else
                void read();
        };
        const shown = () => {
            if (!document.hidden && isLate)
                void read();
        };
        void read(); // also in a tab that nobody sees yet: a link opened in the background is there when one comes
        document.addEventListener("visibilitychange", shown);
        const timer = from === null ? setInterval(again, Math.max(15, span.step) * 1000) : 0;
        return () => {
            ask.abort();
            document.removeEventListener("visibilitychange", shown);
            clearInterval(timer);
        };
    }, [pid, range, from, to]);
    return answer;
}

/* `live`: the frame of useLiveFrame; null for a process that has ended long ago. */
export function useView(pid: number | null, window: Window, live: Frame | null): View {
    const wantsLive = window.range === "5m" && window.from === null && live !== null;
    const inLive = isWithin(live, window);
    const past = useHistory(wantsLive || inLive ? null : pid, window, live);
    if (wantsLive)
        return { frame: live, isLive: true, error: null };
    if (inLive && live && window.from !== null && window.to !== null)
        return { frame: slice(live, window.from, window.to), isLive: true, error: null };
    return { frame: past.frame, isLive: false, error: past.error };
}
