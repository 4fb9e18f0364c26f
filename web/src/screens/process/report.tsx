/* What the live recording of a process reports, read again every few seconds while somebody looks; and what to say while there is
 * none. Shapes: docs/formats/report-json.md. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, path } from "../../api";
import { clock, span } from "../../format";
import { touchLive, useLive, type Live, type LiveProfile } from "../../live";
import { session, useCell } from "../../store";
import { Notice } from "../../ui/parts";

const PAUSE_MS = 3000;

export interface Series {
    count: number;
    totalNs: number;
    p50Ns: number;
    p90Ns: number;
    p95Ns: number;
    p99Ns: number;
    maxNs: number;
}

export interface Site {
    method: string | null;
    fullName: string | null;
    module: string | null;
    file?: string;
    line?: number;
    count: number;
    timeNs?: number;
}

export interface Report {
    start?: string;
    programNs?: number;
    lost?: number;
    gc?: GcReport;
    exceptions?: ExceptionReport;
    contention?: ContentionReport;
    requests?: RequestReport;
}

export interface Collection {
    number: number;
    generation: number;
    reason: string;
    type: string;
    startNs: number;
    durationNs: number;
    pauseNs: number;
    heapAfterBytes: number;
    promotedBytes: number;
}

export interface GcReport {
    collections: number;
    pauses: Series;
    byGeneration: { generation: number; collections: number; pauseNs: number }[];
    byReason: { name: string; collections: number }[];
    heap: { lastAfterBytes: number; growing: boolean };
    list: Collection[];
}

export interface ExceptionType {
    type: string;
    name: string;
    message: string;
    thrown: number;
    perSecond: number;
    caught: number;
    timeNs: number;
    maxNs: number;
    sites: Site[];
}

export interface ExceptionReport {
    thrown: number;
    perSecond: number;
    tellsCatches: boolean;
    types: ExceptionType[];
}

export interface OpenWait extends Site {
    thread: number;
    threadName: string;
    owner: number | null;
    ownerName: string;
    timeNs: number;
    deadlocked: boolean;
}

export interface ContentionReport {
    waits: number;
    perSecond: number;
    timeNs: number;
    p50Ns: number;
    p95Ns: number;
    p99Ns: number;
    maxNs: number;
    open: number;
    deadlocked: number;
    openWaits: OpenWait[];
    sites: Site[];
}

export interface RouteReport {
    method: string;
    host?: string;
    pattern: string;
    count: number;
    perSecond: number;
    done: number;
    open: number;
    failed: number;
    exceptions: number;
    statuses: Record<string, number>;
    times: Series;
}

export interface RequestReport {
    open: number;
    served: { count: number; perSecond: number; times: Series; routes: RouteReport[] };
    sent: { count: number; perSecond: number; times: Series; routes: RouteReport[] };
}

export interface Reading {
    report: Report | null;
    live: Live;
    error: string | null;
}

const isEarly = (problem: unknown): boolean => problem instanceof ApiError && (problem.status === 409 || problem.status === 404 || problem.status === 429);

/* `pid` null: the process has ended; what was read stays. */
export function useReport(pid: number | null, section: string, profile: LiveProfile): Reading {
    const live = useLive(pid, profile);
    const [report, setReport] = useState<Report | null>(null);
    const [error, setError] = useState<string | null>(null);
    useEffect(() => {
        if (live.id === null || pid === null)
            return undefined;
        const id = live.id;
        const ask = new AbortController();
        let timer = 0;
        const read = async () => {
            const began = Date.now();
            if (!document.hidden) {
                try {
                    setReport(await get<Report>(path`recordings/${id}/report?sections=${`file,${section}`}`, ask.signal));
                    setError(null);
                    touchLive(pid, profile);
                } catch (problem) {
                    if (!ask.signal.aborted && !isEarly(problem))
                        setError((problem as Error).message);
                }
            }
            if (!ask.signal.aborted)
                timer = setTimeout(() => void read(), Math.max(PAUSE_MS, 2 * (Date.now() - began))) as unknown as number;
        };
        void read();
        return () => {
            ask.abort();
            clearTimeout(timer);
        };
    }, [pid, live.id, section]);
    return { report, live, error };
}

/* From when the table's numbers are. */
export function Since({ report }: { report: Report }) {
    if (!report.start)
        return null;
    return (
        <span class="quiet since">
            since {clock(new Date(report.start))}, {span((report.programNs ?? 0) / 1e9)}
            {report.lost ? `, ${report.lost} events lost` : ""}
        </span>
    );
}

/* Why there is no table, or not yet; nothing when all is well. `what`: "The list of collections". */
export function ReportState({ reading: { report, live, error }, what, hasEnded }: { reading: Reading; what: string; hasEnded: boolean }) {
    const scope = useCell(session)?.scope ?? "none";
    if (live.state === "refused") {
        return (
            <Notice>
                {what} comes from a live recording of the process, which needs a log-in with scope <b>control</b>; yours has <b>{scope}</b>. The charts come from counters and need no more.
            </Notice>
        );
    }
    if (hasEnded)
        return report ? null : <Notice>{what} comes from a live recording, and the process has ended before one began.</Notice>;
    const trouble = live.state === "failed" ? live.error : error;
    if (trouble)
        return <Notice mood="warn">{what} cannot be shown: {trouble} It is tried again every few seconds.</Notice>;
    return report ? null : <Notice>{what} comes in a moment: a live recording of the process is being started.</Notice>;
}
