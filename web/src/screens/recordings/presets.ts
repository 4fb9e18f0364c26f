/* What can be recorded, in plain words, with what it costs. Costs are those measured in docs/performance.md: an event with its stack
 * takes about 2 µs of the program's CPU time; a sample of the runtime 22 bytes; one of the kernel 6 to 100. */
export type Settings = Record<string, unknown>;

export interface Preset {
    id: string;
    title: string;
    answers: string; // the question that it answers
    slows: string;
    size: string;
    weight: "light" | "medium" | "heavy";
    kind: "trace" | "record";
    settings: Settings;
    seconds: number;
}

const NAMES = "and once the names of methods, mostly 2 to 10 MB";

export const PRESETS: Preset[] = [
    {
        id: "cpu",
        title: "Where time goes",
        answers: "Which methods use the CPU, and where threads wait: stacks of every .NET thread, a thousand times a second.",
        slows: "The runtime stops all threads for each sample. Few threads hardly notice; a program with 100 threads needed 87 % more CPU.",
        size: `About 22 KB a second for each thread, ${NAMES}.`,
        weight: "medium",
        kind: "trace",
        settings: { profile: "dotnet-common,dotnet-sampled-thread-time" },
        seconds: 30,
    },
    {
        id: "alloc",
        title: "Allocations",
        answers: "Which types fill the heap, and who creates them: one allocation in about every 100 KB, with its stack.",
        slows: "About 2 µs for each of them: 2 % of one CPU for a program that allocates 1 GB a second.",
        size: `A few MB for each GB that is allocated, ${NAMES}.`,
        weight: "light",
        kind: "trace",
        settings: { profile: "alloc" },
        seconds: 30,
    },
    {
        id: "gc",
        title: "Garbage collections",
        answers: "When collections run, why, how long they pause the program, and how large the heap is after each.",
        slows: "Not noticeable: a few events for each collection. Can stay on for hours.",
        size: "About 2 KB for each collection.",
        weight: "light",
        kind: "trace",
        settings: { profile: "gc-collect" },
        seconds: 300,
    },
    {
        id: "faults",
        title: "Exceptions and lock waits",
        answers: "What is thrown, where, how long until it is caught; who waits for which lock, and who holds it.",
        slows: "About 2 µs for each event: nothing unless thousands are thrown or wait each second.",
        size: `About 1 KB for each exception, ${NAMES}. Messages of exceptions are in the file.`,
        weight: "light",
        kind: "trace",
        settings: { profile: "exceptions,locks" },
        seconds: 60,
    },
    {
        id: "requests",
        title: "Requests and database",
        answers: "Requests served and sent by route, with their times, and commands of SqlClient and Entity Framework.",
        slows: "Some ten events for each request: about 2 % of one CPU at 1000 requests a second.",
        size: `About 1 KB for each request, ${NAMES}. Texts of commands are in the file.`,
        weight: "light",
        kind: "trace",
        settings: { profile: "aspnet,http,database" },
        seconds: 60,
    },
    {
        id: "all",
        title: "Everything of one process",
        answers: "All of these at once, and the thread pool: for when you do not know yet what is wrong.",
        slows: "All costs above together: the program runs noticeably slower while it has many threads or much to do. For seconds, not hours.",
        size: `About 22 KB a second for each thread, what each event above takes, ${NAMES}.`,
        weight: "heavy",
        kind: "trace",
        settings: { profile: "dotnet-common,dotnet-sampled-thread-time,alloc,exceptions,locks,threadpool,aspnet,http,database" },
        seconds: 20,
    },
    {
        id: "machine",
        title: "The whole machine",
        answers: "All processes with kernel and native frames, sampled by the kernel; .NET methods by their names.",
        slows: "",
        size: "",
        weight: "light",
        kind: "record",
        settings: {},
        seconds: 30,
    },
];

/* How deep a recording of the machine looks. */
export const DEPTHS = [
    {
        id: "cpu",
        title: "CPU only",
        slows: "Light: a program with 100 threads needed 4.6 % more CPU. Can stay on for hours.",
        size: "6 to 100 KB a second for each busy CPU.",
        weight: "light",
    },
    {
        id: "thread-time",
        title: "CPU and waits",
        slows: "Grows with how often threads switch: 7000 switches a second took 7 % of one CPU.",
        size: "About 250 bytes for each switch: 1.7 MB a second at 7000.",
        weight: "medium",
    },
    {
        id: "everything",
        title: "CPU, waits and system calls",
        slows: "Heavy on a busy machine: every switch and every system call is noted. For seconds.",
        size: "Up to several MB a second.",
        weight: "heavy",
    },
] as const;

export type Depth = (typeof DEPTHS)[number]["id"];

export const WEIGHTS = {
    light: ["good", "Light"],
    medium: ["warn", "Noticeable"],
    heavy: ["bad", "Heavy"],
} as const;

/* The preset that a recording was made with, as far as its settings tell. */
export function presetOf(kind: string, settings: Settings): Preset | null {
    if (kind === "record")
        return PRESETS.find((one) => one.kind === "record") ?? null;
    return PRESETS.find((one) => one.kind === "trace" && one.settings["profile"] === settings["profile"]) ?? null;
}
