/* Garbage collection: pauses, heap, and each collection of the last minutes. */
import { bytes, clock, count, seconds } from "../../format";
import { Badge, Card } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { Plans, RangeBar } from "./charts";
import { LiveCost } from "./cost";
import { Facts } from "./facts";
import { ReportState, Since, useReport, type Collection, type GcReport, type Report } from "./report";
import type { TabProps } from "./tab";

const CHARTS = ["gc-pause", "heap", "collections", "allocation", "fragmentation", "memory"];
const SHOWN = 200;

interface Row extends Collection {
    at: number; // seconds since 1970
}

const ns = (value: number): string => seconds(value / 1e9);

const COLUMNS: Column<Row>[] = [
    { id: "number", label: "No.", isNumber: true, sort: (row) => row.number, cell: (row) => row.number },
    { id: "at", label: "When", sort: (row) => row.at, cell: (row) => clock(new Date(row.at * 1000)) },
    { id: "generation", label: "Generation", sort: (row) => row.generation, cell: (row) => <Badge mood={row.generation === 2 ? "warn" : ""}>gen {row.generation}</Badge> },
    { id: "reason", label: "Why", sort: (row) => row.reason, cell: (row) => row.reason },
    { id: "type", label: "Kind", sort: (row) => row.type, cell: (row) => row.type },
    { id: "pause", label: "Pause", isNumber: true, sort: (row) => row.pauseNs, cell: (row) => ns(row.pauseNs) },
    { id: "duration", label: "Took", isNumber: true, sort: (row) => row.durationNs, cell: (row) => ns(row.durationNs) },
    { id: "heap", label: "Heap after", isNumber: true, sort: (row) => row.heapAfterBytes, cell: (row) => bytes(row.heapAfterBytes) },
    { id: "promoted", label: "Survived", isNumber: true, sort: (row) => row.promotedBytes, cell: (row) => bytes(row.promotedBytes) },
];

function rowsOf(report: Report, gc: GcReport): Row[] {
    const start = Date.parse(report.start ?? "") / 1000 || 0;
    return gc.list.slice(-SHOWN).map((one) => ({ ...one, at: start + one.startNs / 1e9 }));
}

function Collections({ report, gc }: { report: Report; gc: GcReport }) {
    const { pauses } = gc;
    return (
        <>
            <Facts of={[
                ["Collections", count(gc.collections), gc.collections],
                ["Pauses, together", ns(pauses.totalNs), pauses.totalNs],
                ["Median pause", ns(pauses.p50Ns), pauses.p50Ns],
                ["p99 pause", ns(pauses.p99Ns), pauses.p99Ns],
                ["Longest pause", ns(pauses.maxNs), pauses.maxNs],
                ["Heap after the last", bytes(gc.heap.lastAfterBytes), gc.heap.lastAfterBytes],
            ]} />
            <Card flush title="Collections" tools={<Since report={report} />}>
                <Table rows={rowsOf(report, gc)} columns={COLUMNS} rowKey={(row) => row.number} start={{ id: "number", down: true }} caption="Collections" />
            </Card>
        </>
    );
}

export function GcTab({ pid, hasEnded, view, window, live }: TabProps) {
    const reading = useReport(hasEnded ? null : pid, "gc", "live-gc");
    const { report } = reading;
    return (
        <>
            <RangeBar window={window} hasEnded={hasEnded} />
            <Plans ids={CHARTS} view={view} window={window} />
            <LiveCost recording={reading.live} frame={live} />
            <ReportState reading={reading} what="The list of collections" hasEnded={hasEnded} />
            {report && (report.gc ? <Collections report={report} gc={report.gc} /> : <Card title="Collections" tools={<Since report={report} />}><p class="quiet">No collection since this recording began.</p></Card>)}
        </>
    );
}
