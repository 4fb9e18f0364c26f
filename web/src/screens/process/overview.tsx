/* The charts that matter, at a glance. */
import { Notice } from "../../ui/parts";
import { Plans, RangeBar } from "./charts";
import { CountersNote } from "./notes";
import type { TabProps } from "./tab";

const CHARTS = ["cpu", "memory", "requests", "latency", "gc-pause", "heap", "allocation", "exceptions", "pool", "contention", "collections", "threads"];

export function Overview({ process, view, window, hasEnded, live }: TabProps) {
    return (
        <>
            <RangeBar window={window} hasEnded={hasEnded} />
            <CountersNote process={process} live={live} />
            <Plans ids={CHARTS} view={view} window={window} empty={<Notice>There are no counters of this process.</Notice>} />
        </>
    );
}
