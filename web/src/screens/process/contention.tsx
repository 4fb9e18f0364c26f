/* Waits for locks: how many, where, and who still waits for whom. */
import { count, seconds } from "../../format";
import { Badge, Card, Notice } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { Plans, RangeBar } from "./charts";
import { LiveCost } from "./cost";
import { Facts } from "./facts";
import { Place } from "./place";
import { ReportState, Since, useReport, type ContentionReport, type OpenWait, type Report, type Site } from "./report";
import type { TabProps } from "./tab";

const CHARTS = ["contention", "cpu", "pool"];
const ns = (value: number): string => seconds(value / 1e9);

const SITES: Column<Site>[] = [
    { id: "method", label: "Where", sort: (row) => row.method ?? "", cell: (row) => <Place site={row} />, class: "wide" },
    { id: "count", label: "Waits", isNumber: true, sort: (row) => row.count, cell: (row) => count(row.count) },
    { id: "time", label: "Waited", isNumber: true, sort: (row) => row.timeNs ?? 0, cell: (row) => ns(row.timeNs ?? 0) },
    { id: "mean", label: "Mean", isNumber: true, sort: (row) => (row.timeNs ?? 0) / row.count, cell: (row) => ns((row.timeNs ?? 0) / row.count) },
];

const threadName = (id: number, name: string): string => (name ? `${name} (${id})` : `thread ${id}`);

const OPEN: Column<OpenWait>[] = [
    { id: "thread", label: "Thread", cell: (row) => <>{threadName(row.thread, row.threadName)} {row.deadlocked && <Badge mood="bad">deadlock</Badge>}</> },
    { id: "owner", label: "Lock held by", cell: (row) => (row.owner === null ? <span class="quiet">not told</span> : threadName(row.owner, row.ownerName)) },
    { id: "time", label: "Waits since", isNumber: true, sort: (row) => row.timeNs, cell: (row) => ns(row.timeNs) },
    { id: "place", label: "Where", cell: (row) => <Place site={row} />, class: "wide" },
];

function Waits({ report, contention }: { report: Report; contention: ContentionReport }) {
    return (
        <>
            {contention.deadlocked > 0 && <Notice mood="bad">{contention.deadlocked} threads wait for each other: a deadlock.</Notice>}
            <Facts of={[
                ["Waits", count(contention.waits), contention.waits],
                ["Waited, together", ns(contention.timeNs), contention.timeNs],
                ["Median", ns(contention.p50Ns), contention.p50Ns],
                ["p99", ns(contention.p99Ns), contention.p99Ns],
                ["Longest", ns(contention.maxNs), contention.maxNs],
                ["Waiting now", count(contention.open), contention.open],
            ]} />
            {contention.openWaits.length > 0 && (
                <Card flush title="Waiting now">
                    <Table rows={contention.openWaits} columns={OPEN} rowKey={(row) => row.thread} caption="Threads that wait for a lock" />
                </Card>
            )}
            <Card flush title="Where threads waited" tools={<Since report={report} />}>
                <Table rows={contention.sites} columns={SITES} rowKey={(row) => `${row.fullName}:${row.line ?? 0}`} start={{ id: "time", down: true }} caption="Places that waited for locks" />
            </Card>
        </>
    );
}

export function ContentionTab({ pid, hasEnded, view, window, live }: TabProps) {
    const reading = useReport(hasEnded ? null : pid, "contention", "live-locks");
    const { report } = reading;
    return (
        <>
            <RangeBar window={window} hasEnded={hasEnded} />
            <Plans ids={CHARTS} view={view} window={window} />
            <LiveCost recording={reading.live} frame={live} />
            <ReportState reading={reading} what="The list of waits" hasEnded={hasEnded} />
            {report && (report.contention
                ? <Waits report={report} contention={report.contention} />
                : <Card title="Where threads waited" tools={<Since report={report} />}><p class="quiet">No thread has waited for a lock (<code>lock</code>, <code>Monitor</code>) since this recording began.</p></Card>)}
        </>
    );
}
