/* Requests by route: how many, how long, how many failed. */
import { count, inUnit, seconds } from "../../format";
import { Badge, Card } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { Plans, RangeBar } from "./charts";
import { LiveCost } from "./cost";
import { Facts } from "./facts";
import { quantileOf, valueOf, type Frame, type Track } from "./frames";
import { CountersNote } from "./notes";
import { ReportState, Since, useReport, type Report, type RequestReport, type RouteReport } from "./report";
import type { TabProps } from "./tab";

const CHARTS = ["requests", "latency", "route-rate", "route-time", "status", "active"];
const ns = (value: number): string => seconds(value / 1e9);

/* Failed is a status of 500 and above, or an exception that nobody caught. */
const errors = (row: RouteReport): number => Math.max(row.failed, row.statuses["5xx"] ?? 0);
const refused = (row: RouteReport): number => row.statuses["4xx"] ?? 0;
const time = (id: string, label: string, read: (row: RouteReport) => number): Column<RouteReport> => ({
    id, label, isNumber: true, sort: read, cell: (row) => (row.times.count ? <span data-value={read(row)}>{ns(read(row))}</span> : "–"),
});

const ROUTES: Column<RouteReport>[] = [
    {
        id: "route", label: "Route", class: "wide", sort: (row) => `${row.pattern} ${row.method}`,
        cell: (row) => <span class="mono">{row.method && <b>{row.method} </b>}{row.host ?? ""}{row.pattern}</span>,
    },
    { id: "count", label: "Count", isNumber: true, sort: (row) => row.count, cell: (row) => <span data-value={row.count}>{count(row.count)}</span> },
    { id: "rate", label: "Rate", isNumber: true, sort: (row) => row.perSecond, cell: (row) => `${count(row.perSecond)}/s` },
    time("mean", "Mean", (row) => (row.times.count ? row.times.totalNs / row.times.count : 0)),
    time("p50", "p50", (row) => row.times.p50Ns),
    time("p95", "p95", (row) => row.times.p95Ns),
    time("p99", "p99", (row) => row.times.p99Ns),
    time("max", "Longest", (row) => row.times.maxNs),
    {
        id: "errors", label: "Errors", isNumber: true, sort: (row) => errors(row) * 1e6 + refused(row),
        cell: (row) => (
            <span data-value={errors(row)}>
                {errors(row) ? <Badge mood="bad" title="Status 500 and above, or an exception that nobody caught">{count(errors(row))}</Badge> : "0"}
                {refused(row) > 0 && <> <Badge mood="warn" title="Status 400 to 499">{count(refused(row))} 4xx</Badge></>}
            </span>
        ),
    },
    { id: "open", label: "In progress", isNumber: true, sort: (row) => row.open, cell: (row) => count(row.open) },
];

const keyOf = (row: RouteReport): string => `${row.method} ${row.host ?? ""}${row.pattern}`;

function Served({ report, requests }: { report: Report; requests: RequestReport }) {
    const { served, sent } = requests;
    const failed = served.routes.reduce((all, row) => all + errors(row), 0);
    return (
        <>
            <Facts of={[
                ["Served", count(served.count), served.count],
                ["Rate", `${count(served.perSecond)}/s`, served.perSecond],
                ["Median", ns(served.times.p50Ns), served.times.p50Ns],
                ["p99", ns(served.times.p99Ns), served.times.p99Ns],
                ["Longest", ns(served.times.maxNs), served.times.maxNs],
                ["Errors", count(failed), failed],
            ]} />
            {served.routes.length > 0 && (
                <Card flush title="By route" tools={<Since report={report} />}>
                    <Table rows={served.routes} columns={ROUTES} rowKey={keyOf} start={{ id: "count", down: true }} caption="Requests served, by route" />
                </Card>
            )}
            {sent.routes.length > 0 && (
                <Card flush title="Sent to others" tools={<Since report={report} />}>
                    <Table rows={sent.routes} columns={ROUTES.filter((column) => column.id !== "errors")} rowKey={keyOf} start={{ id: "count", down: true }} caption="Requests sent, by host and path" />
                </Card>
            )}
        </>
    );
}

/* --- from counters, where there is no recording --- */

const NOW: Column<Track>[] = [
    { id: "route", label: "Route", class: "wide", sort: (row) => row.tags["http.route"] ?? "", cell: (row) => <span class="mono"><b>{row.tags["http.request.method"]} </b>{row.tags["http.route"] ?? "no route"}</span> },
    { id: "status", label: "Status", isNumber: true, sort: (row) => row.tags["http.response.status_code"] ?? "", cell: (row) => row.tags["http.response.status_code"] ?? "–" },
    { id: "rate", label: "Rate", isNumber: true, sort: (row) => row.latest?.rate ?? 0, cell: (row) => inUnit(row.latest?.rate, "{request}", true) },
    { id: "mean", label: "Mean", isNumber: true, sort: (row) => (row.latest && valueOf(row.latest)) ?? 0, cell: (row) => inUnit(row.latest && valueOf(row.latest), row.unit) },
    ...([["p50", 0.5], ["p95", 0.95], ["p99", 0.99]] as const).map(([id, at]): Column<Track> => ({
        id, label: id, isNumber: true, sort: (row) => (row.latest && quantileOf(row.latest, at)) ?? 0, cell: (row) => inUnit(row.latest && quantileOf(row.latest, at), row.unit),
    })),
];

function RoutesNow({ live }: { live: Frame }) {
    const rows = [...live.tracks.values()].filter((track) => track.name === "http.server.request.duration");
    if (rows.length === 0)
        return null;
    return (
        <Card flush title="By route and status, in the last second">
            <Table rows={rows} columns={NOW} rowKey={(row) => row.key} start={{ id: "rate", down: true }} caption="Requests by route, now" />
        </Card>
    );
}

export function RequestsTab({ pid, process, hasEnded, view, window, live }: TabProps) {
    const reading = useReport(hasEnded ? null : pid, "requests", "live-requests");
    const { report } = reading;
    return (
        <>
            <RangeBar window={window} hasEnded={hasEnded} />
            <CountersNote process={process} live={live} />
            <Plans ids={CHARTS} view={view} window={window} />
            <LiveCost recording={reading.live} frame={live} />
            <ReportState reading={reading} what="The table of routes" hasEnded={hasEnded} />
            {report?.requests ? <Served report={report} requests={report.requests} /> : live && <RoutesNow live={live} />}
            {report && !report.requests && <Card title="By route" tools={<Since report={report} />}><p class="quiet">No request was served or sent since this recording began.</p></Card>}
        </>
    );
}
