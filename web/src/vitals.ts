/* The few numbers by which a process is judged at a glance, whatever its runtime calls them: .NET 8 has event counters, 9 and
 * later have meters, the kernel's numbers are always there. One row a number; the first source that a process has is used. */
import { get, type Counter, type HistoryPoint, type HistorySeries } from "./api";
import { chartValue, type LiveCounters } from "./store";
import { inUnit, percent } from "./format";
import { BACK_SECONDS } from "./screens/process/points";

interface Source {
    provider: string;
    name: string;
    scale?: number;
}

export interface Vital {
    id: string;
    label: string;
    explanation: string;
    sources: Source[];
    format: (value: number) => string;
    colour: string; // a token
    least: number; // a chart's top is at least this: noise is not drawn as a mountain
    isZeroFirst?: boolean; // the runtime is silent about it until it happens for the first time
}

export const VITALS: readonly Vital[] = [
    {
        id: "cpu", label: "CPU", explanation: "100 % is one CPU, all the time", colour: "--c1", least: 0.1,
        sources: [{ provider: "process", name: "process.cpu.usage" }],
        format: percent,
    },
    {
        id: "memory", label: "Memory", explanation: "what it holds of the machine's memory (resident)", colour: "--c4", least: 1e6,
        sources: [{ provider: "process", name: "process.memory.usage" }],
        format: (value) => inUnit(value, "By"),
    },
    {
        id: "gc", label: "GC pauses", explanation: "share of time in which collections stop the program", colour: "--c3", least: 0.02,
        sources: [{ provider: "System.Runtime", name: "dotnet.gc.pause.time" }, { provider: "System.Runtime", name: "time-in-gc", scale: 0.01 }],
        format: percent,
    },
    {
        id: "exceptions", label: "Exceptions", explanation: "thrown each second, caught or not", colour: "--c2", least: 2,
        isZeroFirst: true,
        sources: [{ provider: "System.Runtime", name: "dotnet.exceptions" }, { provider: "System.Runtime", name: "exception-count" }],
        format: (value) => inUnit(value, "", true),
    },
    {
        id: "requests", label: "Requests", explanation: "HTTP requests served each second", colour: "--c6", least: 2,
        sources: [
            { provider: "Microsoft.AspNetCore.Hosting", name: "http.server.request.duration" },
            { provider: "Microsoft.AspNetCore.Hosting", name: "requests-per-second" },
        ],
        format: (value) => inUnit(value, "", true),
    },
];

export interface Reading {
    times: number[];
    values: number[];
}

/* What a process had before the page was open, and since. */
class Course implements Reading {
    times: number[] = [];
    values: number[] = [];
    private wasSetBack = false;

    append(time: number, value: number): void {
        const last = this.times[this.times.length - 1] ?? -Infinity;
        if (time < last - BACK_SECONDS)
            [this.times, this.values, this.wasSetBack] = [[], [], true]; // the clock was
        else if (time <= last)
            return;
        this.times.push(time);
        this.values.push(value);
        if (this.times.length > 900) {
            this.times.splice(0, 300);
            this.values.splice(0, 300);
        }
    }

    /* What the store has for times of which nothing is known here: before the first, and while nobody looked. */
    fill(past: Map<number, number>): void {
        const newest = this.wasSetBack ? this.times[this.times.length - 1]! : Infinity; // what is later was before that
        const known = new Set(this.times.flatMap((time) => [Math.floor(time), Math.ceil(time)]));
        const all = new Map(this.times.map((time, i) => [time, this.values[i]!]));
        past.forEach((value, time) => {
            if (!known.has(time) && time <= newest)
                all.set(time, value);
        });
        this.times = [...all.keys()].sort((a, b) => a - b);
        this.values = this.times.map((time) => all.get(time)!);
    }
}

const courses = new Map<string, Course>();
const owners = new Map<number, string>(); // whose courses those of a pid are

function courseOf(key: string): Course {
    let course = courses.get(key);
    if (!course) {
        course = new Course();
        courses.set(key, course);
    }
    return course;
}

/* The sum of a counter's series: routes, exception types, CPU modes. */
function sumOf(counters: readonly Counter[], source: Source): { time: number; value: number } | null {
    let time = 0;
    let value = 0;
    for (const counter of counters) {
        if (counter.provider !== source.provider || counter.name !== source.name)
            continue;
        time = Math.max(time, Date.parse(counter.time) / 1000);
        value += chartValue(counter) * (source.scale ?? 1);
    }
    return time ? { time, value } : null;
}

/* Its latest value and its course; null when the process has no such number. */
export function readVital(vital: Vital, live: LiveCounters | undefined): { now: number; course: Reading } | null {
    if (!live)
        return null;
    const sums = vital.sources.map((source) => sumOf(live.latest.counters, source));
    const sum = sums.find((one) => one !== null) ?? (vital.isZeroFirst ? silence(live.latest.counters, vital.sources) : null);
    if (!sum)
        return null;
    const course = courseOf(`${live.latest.pid}/${vital.id}`);
    course.append(sum.time, sum.value);
    return { now: sum.value, course };
}

/* Others of its provider speak: it has not happened yet. */
function silence(counters: readonly Counter[], sources: Source[]): { time: number; value: number } | null {
    const other = counters.find((counter) => sources.some((source) => source.provider === counter.provider));
    return other ? { time: Date.parse(other.time) / 1000, value: 0 } : null;
}

/* How far back charts of a process go: two minutes, less when it is young. */
export function vitalSpan(live: LiveCounters | undefined): number {
    const lengths = VITALS.map((vital) => readVital(vital, live)?.course.times ?? []).map((times) => (times.length ? times[times.length - 1]! - times[0]! : 0));
    return Math.min(120, Math.max(20, ...lengths));
}

/* The minutes before the page was opened, from the controller's store: charts are full at first sight. */
export async function loadPast(): Promise<void> {
    await Promise.all(VITALS.flatMap((vital) => vital.sources.map(async (source) => {
        const query = new URLSearchParams({ provider: source.provider, counter: source.name, from: "-2m", limit: "20000" });
        const { series } = await get<{ series: HistorySeries[] }>(`history/counters?${query}`);
        addPast(vital, source, series.filter((one) => one.counter === source.name && one.provider === source.provider));
    })));
}

/* What a point of the history shows in a chart: of histograms, how many a second. */
function pastValue({ value, measurements, seconds }: HistoryPoint): number | null {
    if (measurements === undefined)
        return value;
    return seconds ? measurements / seconds : null;
}

function addPast(vital: Vital, source: Source, series: HistorySeries[]): void {
    const seconds = new Map<string, Map<number, number>>(); // series of one name are summed second by second
    const newest = new Map<number, number>(); // processes that had the same pid before are others
    for (const { pid, processId } of series)
        newest.set(pid, Math.max(newest.get(pid) ?? 0, processId));
    for (const one of series.filter(({ pid, processId, hasMeansOnly }) => newest.get(pid) === processId && !hasMeansOnly)) {
        const key = `${one.pid}/${vital.id}`;
        const sums = seconds.get(key) ?? new Map<number, number>();
        seconds.set(key, sums);
        const own = new Map(one.points.map((point) => [Math.round(Date.parse(point.time) / 1000), pastValue(point)])); // a second's last
        own.forEach((value, time) => (value === null ? undefined : sums.set(time, (sums.get(time) ?? 0) + value * (source.scale ?? 1))));
    }
    seconds.forEach((sums, key) => courseOf(key).fill(sums));
}

/* Processes that are gone need no course, and one that got the pid of another begins its own. */
export function forgetOthers(processes: readonly { pid: number; uid: string }[]): void {
    const here = new Map(processes.map(({ pid, uid }) => [pid, uid]));
    for (const key of courses.keys()) {
        const pid = Number(key.slice(0, key.indexOf("/")));
        const uid = here.get(pid);
        if (uid === undefined || (owners.get(pid) ?? uid) !== uid)
            courses.delete(key);
    }
    owners.clear();
    here.forEach((uid, pid) => owners.set(pid, uid));
}
