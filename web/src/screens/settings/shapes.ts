/* What the controller tells of itself (GET /api/v1/settings, /keys, /links), and reading it again and again. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, get, type Scope } from "../../api";
import { checkSession } from "../../session";

export interface Place {
    url: string;
    serves: "api" | "metrics" | "socket";
    isTls: boolean;
    isReachable: boolean;
}

export interface Exposure {
    places: Place[];
    anonymousScope: Scope;
    certificateScope: Scope;
    takesKeys: boolean;
    takesJwt: boolean;
    hasAuditLog: boolean;
    allowedHosts: string[];
    prefix: string;
    disabled: string[];
    warnings: string[];
}

export interface Retention {
    isKept: boolean;
    sizeBytes: number;
    ageSeconds: number;
    isUntilRestart: boolean;
    usedBytes: number;
    freeBytes: number;
    oldest: string | null;
    processes: number;
    series: number;
    recordings: number;
    recordingBytes: number;
    droppedPoints: number;
    clampedPoints: number;
    damagedChunks: number;
    setAside: string;
    isDegraded: boolean;
    why: string;
}

export interface Exporter {
    kind: string;
    name: string;
    destination: string;
    isAsked: boolean;
    state: "waiting" | "ok" | "failing" | "failed";
    numbers: number;
    sent: number;
    sentBytes: number;
    failed: number;
    dropped: number;
    queuedBytes: number;
    lastSuccess: string | null;
    lastError: string;
    note: string;
}

export interface Scrapes {
    path: string;
    isOn: boolean;
    count: number;
    last: string | null;
}

export interface Cost {
    cpuSeconds: number;
    cpuShare: number;
    rssBytes: number;
    threads: number;
    watchedProcesses: number;
    eventsPerSecond: number;
    history: { stepSeconds: number; end: string; cpuShare: number[]; rssBytes: number[]; eventsPerSecond: number[] };
    requests: number;
    connections: number;
    streams: number;
    lostMessages: number;
    cpus: number;
    upSeconds: number;
}

export interface SettingsData {
    exposure: Exposure;
    retention: Retention;
    exporters: Exporter[];
    scrapes: Scrapes;
    cost: Cost;
}

export interface Key {
    id: string;
    name: string;
    scope: Scope;
    created: string;
    expires: string | null;
    isOver: boolean;
    lastUsed: string | null;
}

export interface NewKey extends Key {
    token: string;
}

export interface Reading<T> {
    data: T | null;
    error: string;
    refresh: () => Promise<void>;
    replace: (data: T) => void;
}

/* A resource, read again every so often while somebody can see it; null: not at all. */
export function useReading<T>(path: string | null, everyMs: number): Reading<T> {
    const [data, setData] = useState<T | null>(null);
    const [error, setError] = useState("");
    const refresh = useCallback(async () => {
        if (path === null)
            return;
        try {
            setData(await get<T>(path));
            setError("");
        } catch (problem) {
            setError((problem as Error).message);
            if (problem instanceof ApiError && problem.status === 401)
                await checkSession();
        }
    }, [path]);
    useEffect(() => {
        void refresh();
        const timer = setInterval(() => {
            if (!document.hidden)
                void refresh();
        }, everyMs);
        return () => clearInterval(timer);
    }, [refresh, everyMs]);
    return { data, error, refresh, replace: setData };
}

/* "3 min ago": how old a moment is, for things that should be recent. */
export function ago(text: string | null, never: string): string {
    if (!text)
        return never;
    const age = (Date.now() - Date.parse(text)) / 1000;
    if (age < 5)
        return "just now";
    const units: [number, string][] = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
    const [size, name] = units.find(([unit]) => age >= unit) ?? [1, "second"];
    const count = Math.floor(age / size);
    return `${count} ${name}${count === 1 ? "" : "s"} ago`;
}
