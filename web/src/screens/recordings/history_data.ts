/* What the store remembers of methods and processes, put together for people: a method's share in each recording, over time. */
export interface Hit {
    recording: string;
    process: string;
    createdUtc: string;
    view: string;
    method: string;
    module: string;
    self: number;
    total: number;
    all: number;
}

export interface Seen {
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

export interface Point {
    recording: string;
    time: number; // seconds since 1970
    self: number; // shares, 0 to 1
    total: number;
}

export interface MethodLine {
    method: string;
    module: string;
    points: Point[]; // one for each recording of the process and view, oldest first; 0 where it is not among the hot ones
    latest: number;
    change: number; // against the recording before, as a difference of shares
    most: number;
}

export type Measure = "self" | "total";

export const VIEW_WORDS: Record<string, string> = {
    cpu: "CPU time",
    wall: "Elapsed time",
    wait: "Waiting",
    alloc: "Allocations",
    exceptions: "Exceptions",
    contention: "Lock waits",
    samples: "Samples",
    "thread-time": "Thread time",
};

export function viewWord(view: string): string {
    return VIEW_WORDS[view] ?? view;
}

/* The view of the flame graph that shows it: waits are the other part of elapsed time. */
export function flameView(view: string): string {
    return view === "wait" || view === "thread-time" ? "wall" : view === "samples" ? "cpu" : view;
}

export function processNames(hits: Hit[]): string[] {
    return [...new Set(hits.map((one) => one.process))].sort((a, b) => a.localeCompare(b));
}

export function viewsOf(hits: Hit[], process: string): string[] {
    const order = Object.keys(VIEW_WORDS);
    const found = new Set(hits.filter((one) => one.process === process).map((one) => one.view));
    return [...found].sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

interface Made {
    recording: string;
    time: number;
}

function recordingsOf(hits: Hit[]): Made[] {
    const times = new Map(hits.map((one) => [one.recording, Date.parse(one.createdUtc) / 1000]));
    return [...times].map(([recording, time]) => ({ recording, time })).sort((a, b) => a.time - b.time);
}

function lineOf(hits: Hit[], made: Made[], measure: Measure): MethodLine {
    const byRecording = new Map(hits.map((one) => [one.recording, one]));
    const points = made.map(({ recording, time }) => {
        const hit = byRecording.get(recording);
        return { recording, time, self: hit && hit.all ? hit.self / hit.all : 0, total: hit && hit.all ? hit.total / hit.all : 0 };
    });
    const values = points.map((point) => point[measure]);
    const latest = values[values.length - 1] ?? 0;
    const before = values[values.length - 2];
    return {
        method: hits[0]!.method,
        module: hits[0]!.module,
        points,
        latest,
        change: before === undefined ? 0 : latest - before,
        most: Math.max(...values),
    };
}

/* Methods of a process in a view; one line for each. */
export function methodLines(hits: Hit[], process: string, view: string, measure: Measure): MethodLine[] {
    const own = hits.filter((one) => one.process === process && one.view === view);
    const made = recordingsOf(own);
    const groups = new Map<string, Hit[]>();
    for (const hit of own) {
        const key = `${hit.module}\n${hit.method}`;
        const group = groups.get(key);
        if (group)
            group.push(hit);
        else
            groups.set(key, [hit]);
    }
    return [...groups.values()].map((group) => lineOf(group, made, measure));
}
