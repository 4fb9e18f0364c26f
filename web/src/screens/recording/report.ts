/* The shape of a report (docs/formats/report-json.md), as far as the summary shows it. A topic that a recording has nothing of is not
 * there. */
export interface Series {
    count: number;
    totalNs: number;
    p50Ns: number;
    p90Ns: number;
    p99Ns: number;
    maxNs: number;
}

export interface Method {
    name: string;
    self: number;
    total: number;
    fullName: string;
    module: string;
    kind: string;
}

export interface ProfileTop {
    unit: "nanoseconds" | "bytes" | "count";
    total: number;
    bySelf: Method[];
    byTotal: Method[];
}

export interface Site {
    method: string | null;
    module?: string | null;
    file?: string;
    line?: number;
    count: number;
    timeNs?: number;
    bytes?: number;
}

export interface ThrownType {
    name: string;
    message: string;
    thrown: number;
    perSecond: number;
    timeNs: number;
    sites: Site[];
}

export interface RouteLine {
    method: string;
    host?: string;
    pattern: string;
    count: number;
    perSecond: number;
    failed: number;
    exceptions: number;
    times: Series;
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
}

export interface MachineProcess {
    name: string;
    pid: number;
    count: number;
    kind: string;
    dotnet: boolean;
    chosen: boolean;
    command: string;
    threads: number;
    cpuNs: number;
    kernelNs: number;
    offCpuNs: number;
    runQueueNs: number;
}

export interface Report {
    pid: number;
    processors: number;
    start: string;
    durationSeconds: number;
    programNs: number;
    events: number;
    lost: number;
    cut: boolean;
    damageCount: number;
    machine?: { cpuNs: number; kernelNs: number; dotnetCount: number; processCount: number; chosenPid: number; chosenName: string; runtimeSampler: boolean; processes: MachineProcess[] };
    cpu?: { truth: string; note: string | null; ns?: number; tracingNs?: number };
    profiles?: Record<string, ProfileTop>;
    gc?: {
        collections: number;
        pauses: { count: number; totalNs: number; p50Ns: number; maxNs: number; maxGeneration: number | null };
        byGeneration: { generation: number; collections: number; pauseNs: number }[];
        heap: { maxBytes: number; lastAfterBytes: number; growing: boolean };
        list: Collection[];
    };
    exceptions?: { thrown: number; perSecond: number; types: ThrownType[] };
    allocations?: { bytes: number; bytesPerSecond: number; samples: number; types: { name: string; bytes: number; samples: number; sites: Site[] }[] };
    contention?: { waits: number; timeNs: number; maxNs: number; deadlocked: number; open: number; sites: Site[] };
    jit?: { compiled: number; times?: Series };
    threadPool?: { starved: boolean; starvation: string | null; dequeued: number; queueWaits: Series };
    requests?: { served: { count: number; perSecond: number; times: Series; routes: RouteLine[] }; sent: { count: number; perSecond: number; times: Series; routes: RouteLine[] } };
    offCpu?: { timeNs: number; reasons: { reason: string; count: number; timeNs: number; maxNs: number }[]; places: { name: string; reason: string; timeNs: number; count: number }[] };
    runQueue?: { timeNs: number; maxNs: number };
    syscalls?: { events: number; timeNs: number; failed: number; calls: { call: string; count: number; timeNs: number; maxNs: number; failed: number }[] };
}
