/* Exceptions: how many, of which types and from where, and the last ones with their stacks. */
import { useEffect, useState } from "preact/hooks";
import { get, path } from "../../api";
import { count, seconds } from "../../format";
import { Card, CopyButton, Notice } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { Plans, RangeBar } from "./charts";
import { LiveCost } from "./cost";
import { Facts } from "./facts";
import { isFramework } from "../../../flame/rows";
import { Place } from "./place";
import { ReportState, Since, useReport, type ExceptionReport, type ExceptionType, type Report } from "./report";
import type { TabProps } from "./tab";

const CHARTS = ["exceptions", "exception-types", "requests"];
const PAUSE_MS = 4000;
const SHOWN = 100;
const ns = (value: number): string => seconds(value / 1e9);

interface ThrownFrame {
    methodName: string;
    typeName: string;
    moduleName: string;
    parameterTypes: string[];
    hidden: boolean;
}

interface Thrown {
    id: number;
    timestamp: string;
    typeName: string;
    moduleName: string;
    message: string;
    stack: { threadId: number; threadName: string | null; frames: ThrownFrame[] } | null;
}

const TYPES: Column<ExceptionType>[] = [
    {
        id: "type", label: "Type", class: "wide", sort: (row) => row.name, cell: (row) => (
            <span class="place"><b class="mono">{row.name}</b><small class="quiet">{row.message}</small></span>
        ),
    },
    { id: "thrown", label: "Thrown", isNumber: true, sort: (row) => row.thrown, cell: (row) => <span data-value={row.thrown}>{count(row.thrown)}</span> },
    { id: "rate", label: "Rate", isNumber: true, sort: (row) => row.perSecond, cell: (row) => `${count(row.perSecond)}/s` },
    { id: "time", label: "Throw to catch", isNumber: true, sort: (row) => row.timeNs, cell: (row) => (row.caught ? ns(row.timeNs / row.caught) : "–") },
    { id: "max", label: "Longest", isNumber: true, sort: (row) => row.maxNs, cell: (row) => (row.caught ? ns(row.maxNs) : "–") },
    {
        id: "sites", label: "Thrown by", class: "wide", cell: (row) => (
            <ul class="sites">{row.sites.slice(0, 3).map((site, i) => <li key={i}><Place site={site} /></li>)}</ul>
        ),
    },
];

function Types({ report, exceptions }: { report: Report; exceptions: ExceptionReport }) {
    return (
        <>
            <Facts of={[
                ["Thrown", count(exceptions.thrown), exceptions.thrown],
                ["Rate", `${count(exceptions.perSecond)}/s`, exceptions.perSecond],
                ["Types", count(exceptions.types.length), exceptions.types.length],
            ]} />
            <Card flush title="By type" tools={<Since report={report} />}>
                <Table rows={exceptions.types} columns={TYPES} rowKey={(row) => row.type} start={{ id: "thrown", down: true }} caption="Exceptions by type" />
            </Card>
        </>
    );
}

/* --- the last ones --- */

function useThrown(pid: number | null): { list: Thrown[] | null; error: string | null } {
    const [answer, setAnswer] = useState<{ list: Thrown[] | null; error: string | null }>({ list: null, error: null });
    useEffect(() => {
        if (pid === null)
            return undefined;
        const ask = new AbortController();
        const read = () => {
            if (document.hidden)
                return;
            get<Thrown[]>(path`processes/${pid}/exceptions?format=json`, ask.signal)
                .then((list) => setAnswer({ list, error: null }))
                .catch((problem: Error) => ask.signal.aborted || setAnswer((before) => ({ ...before, error: problem.message })));
        };
        read();
        const timer = setInterval(read, PAUSE_MS);
        return () => {
            ask.abort();
            clearInterval(timer);
        };
    }, [pid]);
    return answer;
}

const frameText = (frame: ThrownFrame): string => `${frame.typeName}.${frame.methodName}(${frame.parameterTypes.join(", ")})`;

function stackText(one: Thrown): string {
    const frames = (one.stack?.frames ?? []).map((frame) => `   at ${frameText(frame)}`);
    return [`${one.typeName}: ${one.message}`, ...frames].join("\n");
}

function ThrownOne({ one }: { one: Thrown }) {
    const [isOpen, setOpen] = useState(false);
    const time = new Date(one.timestamp);
    return (
        <details class="entry" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                <time class="quiet" dateTime={one.timestamp}>{time.toLocaleTimeString(undefined, { hour12: false })}</time>
                <b class="mono">{one.typeName}</b>
                <span class="message">{one.message}</span>
            </summary>
            {isOpen && (
                <div class="inside">
                    <ol class="frames">
                        {(one.stack?.frames ?? []).filter((frame) => !frame.hidden).map((frame, i) => (
                            <li key={i} class={isFramework(frame.moduleName) ? "framework" : "own"}>{frameText(frame)} <small>{frame.moduleName}</small></li>
                        ))}
                    </ol>
                    <CopyButton text={() => stackText(one)} />
                </div>
            )}
        </details>
    );
}

function Last({ pid, hasEnded }: { pid: number; hasEnded: boolean }) {
    const { list, error } = useThrown(hasEnded ? null : pid);
    if (!list)
        return error ? <Notice mood="warn">The last exceptions cannot be read: {error}</Notice> : null;
    const shown = list.slice(-SHOWN).reverse();
    return (
        <Card flush title="The last ones" tools={<span class="quiet">{list.length > SHOWN ? `${SHOWN} of ${list.length} that are kept` : ""}</span>}>
            {shown.length ? <div class="entries">{shown.map((one) => <ThrownOne key={one.id} one={one} />)}</div> : <p class="body-text quiet">None were thrown since the controller watches the process.</p>}
        </Card>
    );
}

export function ExceptionsTab({ pid, hasEnded, view, window, live }: TabProps) {
    const reading = useReport(hasEnded ? null : pid, "exceptions", "live-exceptions");
    const { report } = reading;
    return (
        <>
            <RangeBar window={window} hasEnded={hasEnded} />
            <Plans ids={CHARTS} view={view} window={window} />
            <LiveCost recording={reading.live} frame={live} />
            <ReportState reading={reading} what="The table of types" hasEnded={hasEnded} />
            {report && (report.exceptions
                ? <Types report={report} exceptions={report.exceptions} />
                : <Card title="By type" tools={<Since report={report} />}><p class="quiet">No exception was thrown since this recording began.</p></Card>)}
            <Last pid={pid} hasEnded={hasEnded} />
        </>
    );
}
