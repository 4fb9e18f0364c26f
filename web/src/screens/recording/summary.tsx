/* The summary of a recording: headlines in plain words, then the tables behind them. */
import { type Recording } from "../../api";
import { bytes, count, moment, percent, seconds } from "../../format";
import { link, setParams, type Route } from "../../route";
import { Badge, Card, Choice, Empty, Loading, Notice } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { flameView, viewWord } from "../recordings/history_data";
import { doubts, headlines, type Headline } from "./headlines";
import type { Collection, MachineProcess, Method, ProfileTop, Report, RouteLine, ThrownType } from "./report";

export interface TabProps {
    recording: Recording;
    route: Route;
    process: string; // of a recording of the machine: the pid that is looked at
}

const SHOWN = 10;

export function amount(value: number, unit: ProfileTop["unit"]): string {
    return unit === "nanoseconds" ? seconds(value / 1e9) : unit === "bytes" ? bytes(value) : count(value);
}

/* Of several processes a recording of the machine tells what only a runtime knows of one: who that is, else "". */
function runtimeOf({ machine }: Report): string {
    if (!machine || !machine.chosenPid || machine.dotnetCount < 2)
        return "";
    return machine.chosenName.endsWith(")") ? machine.chosenName : `${machine.chosenName} (${machine.chosenPid})`;
}

/* What the kernel tells is of all processes, or of the one that was chosen. */
const OF_KERNEL = new Set(["cpu", "wall", "wait", "syscalls"]);

function Tile({ one, href, who }: { one: Headline; href: string | null; who: string }) {
    const inner = (
        <>
            <span class="rec-tile-title">{one.title}{one.mood && <Badge mood={one.mood}>Look here</Badge>}</span>
            <b>{one.value}</b>
            <span>{one.text}{who && !OF_KERNEL.has(one.id) && <span class="quiet"> Of {who} only.</span>}</span>
        </>
    );
    return href ? <a class="rec-tile" href={href}>{inner}</a> : <div class="rec-tile">{inner}</div>;
}

function methodColumns(top: ProfileTop, href: (method: Method) => string): Column<Method>[] {
    const share = (value: number) => (top.total ? value / top.total : 0);
    return [
        { id: "name", label: "Method", cell: (one) => (
            <div class="rec-recording-name"><a class="mono rec-method" href={href(one)} title={one.fullName}>{one.name}</a><div class="facts"><span>{one.module || one.kind}</span></div></div>
        ), sort: (one) => one.name },
        { id: "bar", label: "Share", class: "rec-bar-cell", cell: (one) => (
            <div class="rec-bar" title={`${amount(one.self, top.unit)} in itself, ${amount(one.total, top.unit)} with what it calls`}>
                <i style={{ width: `${share(one.total) * 100}%` }} /><b style={{ width: `${share(one.self) * 100}%` }} />
            </div>
        ) },
        { id: "self", label: "In itself", isNumber: true, sort: (one) => one.self, cell: (one) => <>{percent(share(one.self))} <span class="quiet rec-wide-inline">{amount(one.self, top.unit)}</span></> },
        { id: "total", label: "In all", isNumber: true, sort: (one) => one.total, cell: (one) => <>{percent(share(one.total))} <span class="quiet rec-wide-inline">{amount(one.total, top.unit)}</span></> },
    ];
}

function HotMethods({ report, recording, route, process }: TabProps & { report: Report }) {
    const views = Object.entries(report.profiles ?? {}).filter(([, top]) => top.total > 0);
    const order = ["cpu", "wait", "alloc", "exceptions", "contention", "wall", "samples"];
    views.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
    const shown = views.filter(([id]) => id !== "samples" || views.length === 1);
    const [view, top] = shown.find(([id]) => id === route.params.get("view")) ?? shown[0] ?? [];
    if (!view || !top)
        return null;
    const byTotal = route.params.get("by") === "total";
    const rows = (byTotal ? top.byTotal : top.bySelf).slice(0, SHOWN);
    const href = (method: Method) => link(["recording", recording.id, "flame"], { view: flameView(view), process, search: method.name });
    return (
        <Card flush title="Hot methods" tools={(
            <div class="row">
                <select aria-label="What is counted" value={view} onChange={(event) => setParams({ view: event.currentTarget.value })}>
                    {shown.map(([id]) => <option key={id} value={id}>{viewWord(id)}</option>)}
                </select>
                <Choice label="Sorted by" value={byTotal ? "total" : "self"} onChange={(value) => setParams({ by: value === "total" ? value : "" })}
                    options={[["self", "In itself"], ["total", "With what it calls"]]} />
                <a class="button" href={link(["recording", recording.id, "flame"], { view: flameView(view), process })}>Flame graph</a>
            </div>
        )}>
            <Table key={`${view}${byTotal}`} rows={rows} columns={methodColumns(top, href)} rowKey={(one) => `${one.module}/${one.fullName}`} caption={`Hot methods by ${viewWord(view)}`} />
        </Card>
    );
}

const ROUTES: Column<RouteLine>[] = [
    { id: "route", label: "Route", cell: (one) => <span class="mono rec-method">{one.method} {one.host ?? ""}{one.pattern}</span>, sort: (one) => one.pattern },
    { id: "count", label: "Requests", isNumber: true, cell: (one) => count(one.count), sort: (one) => one.count },
    { id: "p50", label: "Half within", isNumber: true, cell: (one) => seconds(one.times.p50Ns / 1e9), sort: (one) => one.times.p50Ns },
    { id: "p99", label: "99 % within", isNumber: true, cell: (one) => seconds(one.times.p99Ns / 1e9), sort: (one) => one.times.p99Ns },
    { id: "max", label: "Longest", isNumber: true, class: "rec-wide", cell: (one) => seconds(one.times.maxNs / 1e9), sort: (one) => one.times.maxNs },
    { id: "failed", label: "Failed", isNumber: true, class: "rec-wide", cell: (one) => (one.failed ? <span class="rec-lost">{count(one.failed)}</span> : "0"), sort: (one) => one.failed },
];

const THROWN: Column<ThrownType>[] = [
    { id: "type", label: "Exception", cell: (one) => <div class="rec-recording-name"><span class="mono rec-method">{one.name}</span><div class="facts"><span>{one.message}</span></div></div>, sort: (one) => one.name },
    { id: "site", label: "Thrown in", class: "rec-wide", cell: (one) => <span class="mono rec-method">{one.sites[0]?.method ?? "not known"}</span> },
    { id: "count", label: "Thrown", isNumber: true, cell: (one) => count(one.thrown), sort: (one) => one.thrown },
    { id: "time", label: "Until caught", isNumber: true, cell: (one) => seconds(one.timeNs / 1e9), sort: (one) => one.timeNs },
];

const COLLECTIONS: Column<Collection>[] = [
    { id: "number", label: "Collection", cell: (one) => `#${one.number}, generation ${one.generation}`, sort: (one) => one.number },
    { id: "reason", label: "Why", cell: (one) => one.reason, sort: (one) => one.reason },
    { id: "start", label: "At", isNumber: true, class: "rec-wide", cell: (one) => seconds(one.startNs / 1e9), sort: (one) => one.startNs },
    { id: "pause", label: "Pause", isNumber: true, cell: (one) => seconds(one.pauseNs / 1e9), sort: (one) => one.pauseNs },
    { id: "heap", label: "Heap after", isNumber: true, cell: (one) => bytes(one.heapAfterBytes), sort: (one) => one.heapAfterBytes },
];

interface PlacesProps {
    title: string;
    label: string;
    rows: Place[];
    format: (value: number) => string;
    what: string;
    times?: string;
}

interface Place {
    name: string;
    detail: string;
    count: number;
    size: number; // nanoseconds or bytes
}

function placeColumns({ label, format, what, times = "Times" }: Omit<PlacesProps, "title" | "rows">): Column<Place>[] {
    return [
        { id: "name", label, cell: (one) => <div class="rec-recording-name"><span class="mono rec-method">{one.name}</span>{one.detail && <div class="facts"><span>{one.detail}</span></div>}</div>, sort: (one) => one.name },
        { id: "count", label: times, isNumber: true, cell: (one) => count(one.count), sort: (one) => one.count },
        { id: "size", label: what, isNumber: true, cell: (one) => format(one.size), sort: (one) => one.size },
    ];
}

function Places({ title, rows, ...rest }: PlacesProps) {
    return rows.length ? (
        <Card flush title={title}>
            <Table rows={rows.slice(0, SHOWN)} columns={placeColumns(rest)} rowKey={(one) => `${one.name}/${one.detail}`} start={{ id: "size", down: true }} caption={title} />
        </Card>
    ) : null;
}

const time = (ns: number) => seconds(ns / 1e9);

const PROCESSES: Column<MachineProcess>[] = [
    { id: "name", label: "Process", cell: (one) => (
        <div class="rec-recording-name">
            {one.pid ? <button type="button" class="link" onClick={() => setParams({ process: String(one.pid) })}>{one.name}</button> : one.name}
            <div class="facts">{one.count > 1 && <span>{count(one.count)} of them</span>}<span>{one.kind}</span></div>
        </div>
    ), sort: (one) => one.name },
    { id: "cpu", label: "CPU", isNumber: true, cell: (one) => seconds(one.cpuNs / 1e9), sort: (one) => one.cpuNs },
    { id: "kernel", label: "In the kernel", isNumber: true, class: "rec-wide", cell: (one) => seconds(one.kernelNs / 1e9), sort: (one) => one.kernelNs },
    { id: "off", label: "Waited", isNumber: true, class: "rec-wide", cell: (one) => seconds(one.offCpuNs / 1e9), sort: (one) => one.offCpuNs },
    { id: "queue", label: "For a CPU", isNumber: true, class: "rec-wide", cell: (one) => seconds(one.runQueueNs / 1e9), sort: (one) => one.runQueueNs },
    { id: "threads", label: "Threads", isNumber: true, cell: (one) => count(one.threads), sort: (one) => one.threads },
];

function Processes({ report, process }: { report: Report; process: string }) {
    const all = report.machine?.processes ?? [];
    return all.length && !process ? (
        <Card flush title="Processes">
            <Table rows={all} columns={PROCESSES} rowKey={(one) => `${one.name}/${one.pid}`} start={{ id: "cpu", down: true }} caption="Processes of the machine" />
        </Card>
    ) : null;
}

function Tables({ report, who }: { report: Report; who: string }) {
    const titled = (title: string) => (who ? `${title}, of ${who}` : title);
    const slowest = [...(report.gc?.list ?? [])].sort((a, b) => b.pauseNs - a.pauseNs).slice(0, SHOWN);
    const routes = report.requests?.served.routes.slice(0, SHOWN) ?? [];
    const types = report.exceptions?.types.slice(0, SHOWN) ?? [];
    return (
        <>
            {routes.length > 0 && <Card flush title={titled("Requests by route")}><Table rows={routes} columns={ROUTES} rowKey={(one) => `${one.method} ${one.pattern}`} caption="Requests by route" /></Card>}
            {types.length > 0 && <Card flush title={titled("Exceptions")}><Table rows={types} columns={THROWN} rowKey={(one) => one.name} caption="Exceptions" /></Card>}
            <Places title={titled("What was allocated")} label="Type" what="Bytes" times="Samples" format={bytes}
                rows={(report.allocations?.types ?? []).map((one) => ({ name: one.name, detail: one.sites[0]?.method ? `most in ${one.sites[0].method}` : "", count: one.samples, size: one.bytes }))} />
            {slowest.length > 0 && <Card flush title={titled("Longest collections")}><Table rows={slowest} columns={COLLECTIONS} rowKey={(one) => one.number} caption="Longest collections" /></Card>}
            <Places title={titled("Where locks were waited for")} label="Method" what="Waited" format={time}
                rows={(report.contention?.sites ?? []).map((one) => ({ name: one.method ?? "not known", detail: one.module ?? "", count: one.count, size: one.timeNs ?? 0 }))} />
            <Places title="Where threads waited" label="Code" what="Waited" format={time}
                rows={(report.offCpu?.places ?? []).map((one) => ({ name: one.name, detail: one.reason, count: one.count, size: one.timeNs }))} />
            <Places title="System calls" label="Call" what="Time" format={time}
                rows={(report.syscalls?.calls ?? []).map((one) => ({ name: one.call, detail: one.failed ? `${count(one.failed)} failed` : "", count: one.count, size: one.timeNs }))} />
        </>
    );
}

export function Summary({ report, problem, ...props }: TabProps & { report: Report | null; problem: string }) {
    if (problem)
        return <Card><Empty title="There is no summary" action={<a class="button" href={link(["recording", props.recording.id, "downloads"])}>Downloads</a>}>{problem}</Empty></Card>;
    if (!report)
        return <Loading what="Reading the recording…" />;
    const lines = headlines(report);
    const who = runtimeOf(report);
    const href = (one: Headline) => (one.goes ? link(["recording", props.recording.id, "flame"], { view: flameView(one.goes), process: props.process }) : null);
    return (
        <>
            {props.recording.kind === "upload" && <div class="facts"><span>Recorded {moment(report.start)}</span><span>for {seconds(report.durationSeconds)}</span></div>}
            {who && <Notice>Collections, exceptions, locks, requests and all else that only a runtime tells are of {who} only, {props.process ? "the one that was chosen" : `the busiest of ${count(report.machine?.dotnetCount ?? 0)} with .NET`}.{props.process ? "" : " Choose another above or below."}</Notice>}
            {doubts(report).map((text) => <Notice key={text} mood="warn">{text}</Notice>)}
            {lines.length === 0 && <Card><Empty title="Nothing happened that it was to record">It has {count(report.events)} events, and none is of what a summary tells. The process may have been idle; record it under load, or with another preset.</Empty></Card>}
            <div class="rec-tiles">{lines.map((one) => <Tile key={one.id} one={one} href={href(one)} who={who} />)}</div>
            <Processes report={report} process={props.process} />
            <HotMethods report={report} {...props} />
            <Tables report={report} who={who} />
        </>
    );
}
