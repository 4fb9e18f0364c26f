/* The controller's REST interface as the page uses it: requests, errors a person can read, and the shapes that come back. */

const base = new URL("api/v1/", document.baseURI);

export class ApiError extends Error {
    constructor(readonly status: number, readonly title: string, detail: string) {
        super(detail || title);
    }
}

/* The address of a resource below the API, for links and downloads too. */
export function apiUrl(path: string, params: Record<string, string | number | boolean | undefined> = {}): string {
    const url = new URL(path, base);
    for (const [name, value] of Object.entries(params)) {
        if (value !== undefined && value !== "")
            url.searchParams.set(name, String(value));
    }
    return url.href;
}

async function problemOf(answer: Response): Promise<ApiError> {
    const body = (await answer.json().catch(() => ({}))) as { title?: string; detail?: string };
    const title = body.title ?? (answer.statusText || `status ${answer.status}`);
    return new ApiError(answer.status, title, body.detail ?? "");
}

export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (body !== undefined)
        headers["Content-Type"] = "application/json";
    let answer: Response;
    try {
        answer = await fetch(apiUrl(path), { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null });
    } catch (cause) {
        if (signal?.aborted)
            throw cause;
        throw new ApiError(0, "no answer", "The controller does not answer. Is 'sonde serve' still running?");
    }
    if (!answer.ok)
        throw await problemOf(answer);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => send<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown): Promise<T> => send<T>("POST", path, body);
export const patch = <T>(path: string, body: unknown): Promise<T> => send<T>("PATCH", path, body);
export const remove = (path: string): Promise<void> => send<void>("DELETE", path);

/* A path with its parts encoded: path`processes/${pid}/stacks`. */
export function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
    return parts.reduce((text, part, i) => text + part + (i < values.length ? encodeURIComponent(values[i] ?? "") : ""), "");
}

/* --- shapes (docs/formats/api-schemas.json) --- */

export const SCOPES = ["none", "metrics", "read", "control", "attach", "secrets"] as const;
export type Scope = (typeof SCOPES)[number];

export function reaches(scope: Scope, needed: Scope): boolean {
    return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed);
}

export interface Session {
    name: string;
    kind: string;
    scope: Scope;
}

export interface Info {
    name: string;
    version: string;
    host: string;
    pid: number;
    started: string;
    upSeconds: number;
    hasStore: boolean;
    hasCounters: boolean;
    intervalSeconds: number;
    scope: Scope;
    who: string;
    disabled: string[];
}

export interface Process {
    pid: number;
    nsPid: number;
    uid: string;
    name: string;
    runtime: string;
    user: string;
    container: string;
    commandLine: string;
    architecture: string;
    isReachable: boolean;
    reason: string;
    fix: string;
    upSeconds: number;
    rssBytes: number;
    threadCount: number;
}

export interface Counter {
    provider: string;
    name: string;
    displayName: string;
    unit: string;
    kind: "gauge" | "mean" | "rate" | "upDown" | "histogram";
    origin: "eventCounter" | "meter" | "kernel";
    time: string;
    intervalSeconds: number;
    tags?: Record<string, string>;
    value?: number;
    change?: number;
    rate?: number;
    total?: number;
    count?: number;
    sum?: number;
    min?: number;
    max?: number;
    quantiles?: Record<string, number>; // by the quantile as text: "0.95"
}

export interface ProcessCounters {
    pid: number;
    name: string;
    hasEnded: boolean;
    isComplete: boolean;
    intervalSeconds: number;
    note: string;
    counters: Counter[];
}

export interface Health {
    status: "ok" | "degraded";
    reasons: string[];
}

export interface HistorySeries {
    processId: number;
    pid: number;
    process: string;
    provider: string;
    counter: string;
    unit: string;
    tags: string;
    kind: Counter["kind"];
    hasMeansOnly?: boolean; // of a histogram: an older controller kept it, without counts and percentiles
    points: HistoryPoint[];
}

/* Of a histogram: `value` is the mean of all measurements; percentiles lie between the lowest and the highest that an interval had. */
export interface HistoryPoint {
    time: string;
    value: number | null;
    min?: number | null;
    max?: number | null;
    count?: number;
    measurements?: number;
    sum?: number;
    seconds?: number;
    quantiles?: { at: number; low: number; high: number }[];
}

export interface Recording {
    id: string;
    kind: "trace" | "record" | "upload";
    name?: string;
    state: "Configured" | "Starting" | "Running" | "Stopping" | "Succeeded" | "Failed" | "Cancelled";
    enabled: boolean;
    live?: boolean; // a look at a running process: goes away when nobody looks
    message?: string;
    process?: { pid: number; name: string; uid: string } | null;
    owner?: string;
    createdUtc: string | null;
    startedUtc?: string | null;
    endedUtc?: string | null;
    fileName?: string;
    fileBytes: number;
    progress?: Record<string, unknown>;
    settings?: Record<string, unknown>;
}

/* docs/formats/flame-graph-json.md */
export interface FlameRows {
    version: number;
    since: number;
    view: string;
    unit: "nanoseconds" | "bytes" | "count";
    total: number;
    durationSeconds: number;
    lost: number;
    complete: boolean;
    frames: [id: number, name: string, module: string, kind: string, flags: number, source: string][];
    nodes: [id: number, parent: number, frame: number, self: number, total: number][];
}

/* Where each thread ran, collections, requests: seconds since the recording's start. */
export interface Timeline {
    durationSeconds: number;
    from: number;
    to: number;
    buckets: number;
    cpu: number[];
    threads: { pid: number; tid: number; process: string; name: string; cpuSeconds: number; running: number[] }[];
    gc: { start: number; end: number; generation: number; pauseMilliseconds: number; reason: string }[];
    requests: { start: number; end: number; name: string; status?: number }[];
    exceptions: number[];
}
