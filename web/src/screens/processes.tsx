/* Every .NET process of the machine: how it fares, and what cannot be watched and why. */
import { useEffect } from "preact/hooks";
import { reaches, type Process } from "../api";
import type { ScreenProps } from "../app";
import { clean, span } from "../format";
import { link, setParams } from "../route";
import { session, upNow, useCell, useCounters, useProcesses, useRefusal, useSeconds, type LiveCounters } from "../store";
import { Icon } from "../ui/icons";
import { Badge, Choice, Empty, Loading } from "../ui/parts";
import { Spark } from "../ui/spark";
import { forgetOthers, loadPast, readVital, VITALS, vitalSpan, type Vital } from "../vitals";
import "./processes.css";

type Sort = "cpu" | "memory" | "requests" | "name";

const SORTS: readonly (readonly [Sort, string])[] = [["cpu", "CPU"], ["memory", "Memory"], ["requests", "Requests"], ["name", "Name"]];

function wordsOf(query: string): string[] {
    return query.toLowerCase().split(/\s+/).filter(Boolean);
}

function matches(facts: (string | number)[], words: string[]): boolean {
    const text = facts.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
}

function factsOf(process: Process): (string | number)[] {
    return [process.name, process.pid, process.runtime, process.user, process.container, process.commandLine];
}

function weightOf(process: Process, live: LiveCounters | undefined, sort: Sort): number {
    const vital = VITALS.find((one) => one.id === sort);
    return (vital && readVital(vital, live)?.now) ?? (sort === "memory" ? process.rssBytes : -1);
}

/* Heavy first, in steps: rows do not change places for a percent. */
function order(processes: Process[], live: ReadonlyMap<number, LiveCounters>, sort: Sort): Process[] {
    const step = (process: Process) => (sort === "name" ? 0 : Math.round(Math.log2(Math.max(weightOf(process, live.get(process.pid), sort), 1e-3))));
    const steps = new Map(processes.map((process) => [process, step(process)]));
    const byName = (a: Process, b: Process) => a.name.localeCompare(b.name) || a.pid - b.pid;
    return [...processes].sort((a, b) => steps.get(b)! - steps.get(a)! || byName(a, b));
}

function VitalCell({ vital, pid, live, seconds }: { vital: Vital; pid: number; live: LiveCounters | undefined; seconds: number }) {
    const reading = readVital(vital, live);
    if (!reading)
        return <div class="vital missing"><span class="name">{vital.label}</span><span class="quiet">–</span></div>;
    const text = vital.format(reading.now);
    return (
        <div class="vital" title={`${vital.label}: ${vital.explanation}`}>
            <span class="name">{vital.label}</span>
            <b data-vital={vital.id} data-pid={pid} data-value={reading.now}>{text}</b>
            <Spark {...reading.course} span={seconds} gap={3 * Math.max(1, live?.latest.intervalSeconds ?? 0)} colour={vital.colour} least={vital.least} label={`${vital.label}, now ${text}`} />
        </div>
    );
}

function Vitals({ pid, live }: { pid: number; live: LiveCounters | undefined }) {
    const seconds = vitalSpan(live);
    return <div class="vitals">{VITALS.map((vital) => <VitalCell key={vital.id} vital={vital} pid={pid} live={live} seconds={seconds} />)}</div>;
}

/* What tells processes of one name apart: the folders of the program do not. */
function shortCommand(line: string): string {
    return line.replace(/^\S*\/(?=dotnet(\s|$))/, "").replace(/(^|\s)\S*\/(?=[^/\s]+\.dll(\s|$))/, "$1");
}

function Command({ line }: { line: string }) {
    return <p class="command mono cut" title={clean(line)}>{clean(shortCommand(line))}</p>;
}

/* The list of processes comes when it changes: what it says of a process may be hours old. */
function Up({ process }: { process: Process }) {
    useSeconds();
    return <span>up {span(upNow(process))}</span>;
}

function threadsOf(process: Process, live: LiveCounters | undefined): number {
    const counter = live?.latest.counters.find(({ provider, name }) => provider === "process" && name === "process.thread.count");
    return counter?.value ?? process.threadCount;
}

export function Facts({ process, live }: { process: Process; live?: LiveCounters | undefined }) {
    const threads = threadsOf(process, live);
    return (
        <div class="facts">
            <span>pid {process.pid}</span>
            {process.runtime && <span>.NET {process.runtime}</span>}
            {process.container && <span title={clean(process.container)}>in {clean(process.container.slice(0, 24))}</span>}
            <span>{clean(process.user)}</span>
            <Up process={process} />
            <span>{threads} {threads === 1 ? "thread" : "threads"}</span>
        </div>
    );
}

function Watched({ process, live }: { process: Process; live: LiveCounters | undefined }) {
    const mayRecord = reaches(useCell(session)?.scope ?? "none", "control");
    return (
        <li class="card process">
            <div class="who">
                <h2 class="cut"><a href={link(["process", process.pid])}>{clean(process.name)}</a></h2>
                <Facts process={process} live={live} />
                <Command line={process.commandLine} />
                <div class="row">
                    {mayRecord && <a class="button" href={link(["process", process.pid, "flame"])}>Flame graph</a>}
                    <a class="button" href={link(["process", process.pid, "threads"])}>Threads</a>
                    {mayRecord && <a class="button" href={link(["recordings"], { new: process.pid })}><Icon name="record" />Record</a>}
                </div>
            </div>
            <Vitals pid={process.pid} live={live} />
        </li>
    );
}

function Unwatched({ process }: { process: Process }) {
    return (
        <li class="card process unwatched">
            <div class="who">
                <h2 class="cut">{clean(process.name)} <Badge mood="warn">cannot be watched</Badge></h2>
                <Facts process={process} />
                <Command line={process.commandLine} />
                <div class="row"><a class="button" href={link(["process", process.pid, "threads"])} title="They are read from outside: its runtime need not answer">Threads</a></div>
            </div>
            <div class="why">
                <p>{clean(process.reason)}</p>
                {process.fix && <p class="row"><code>{clean(process.fix)}</code></p>}
            </div>
        </li>
    );
}

function NoProcesses() {
    return (
        <Empty title="No .NET process runs here">
            Sonde shows every .NET process of this machine within a second of its start. In a container, share the host's process ids or the service's <code>/tmp</code> with Sonde.
        </Empty>
    );
}

function Bar({ query, sort, shown, total }: { query: string; sort: Sort; shown: number; total: number }) {
    return (
        <div class="head">
            <h1 class="grow">Processes <span class="quiet">{shown === total ? total : `${shown} of ${total}`}</span></h1>
            <input type="search" placeholder="Search name, pid, user, container" aria-label="Search processes" value={query}
                onInput={(event) => setParams({ q: event.currentTarget.value })} />
            <Choice label="Sort by" options={SORTS} value={sort} onChange={(value) => setParams({ sort: value === "cpu" ? "" : value })} />
        </div>
    );
}

export function Processes({ route }: ScreenProps) {
    const who = useCell(session);
    const processes = useProcesses();
    const why = useRefusal("processes");
    const live = useCounters();
    const query = route.params.get("q") ?? "";
    const sort = (SORTS.find(([id]) => id === route.params.get("sort"))?.[0]) ?? "cpu";
    useEffect(() => void loadPast().catch(() => undefined), []); // without a store there is none
    useEffect(() => {
        if (processes)
            forgetOthers(processes);
    }, [processes]);
    if (who && !reaches(who.scope, "read"))
        return <OnlyMetrics live={live} query={query} />;
    if (!processes)
        return why ? <Empty title="Processes are not shown">{why}</Empty> : <Loading what="Looking at the machine's processes…" />;
    const found = processes.filter((process) => matches(factsOf(process), wordsOf(query)));
    const watched = order(found.filter((process) => process.isReachable), live, sort);
    const others = order(found.filter((process) => !process.isReachable), live, "name");
    return (
        <>
            <Bar query={query} sort={sort} shown={found.length} total={processes.length} />
            {processes.length === 0 && <NoProcesses />}
            {processes.length > 0 && found.length === 0 &&
                <Empty title="Nothing matches" action={<button type="button" onClick={() => setParams({ q: "" })}>Show all</button>}>No process has all of "{query}" in its name, pid, user, container or command line.</Empty>}
            <ul class="processes">
                {watched.map((process) => <Watched key={process.uid || process.pid} process={process} live={live.get(process.pid)} />)}
                {others.map((process) => <Unwatched key={process.uid || process.pid} process={process} />)}
            </ul>
        </>
    );
}

/* A key that reaches no further than metrics sees those. */
function OnlyMetrics({ live, query }: { live: ReadonlyMap<number, LiveCounters>; query: string }) {
    const all = [...live.values()].map(({ latest }) => latest);
    const found = all.filter(({ name, pid }) => matches([name, pid], wordsOf(query))).sort((a, b) => a.name.localeCompare(b.name) || a.pid - b.pid);
    useEffect(() => forgetOthers(all.map(({ pid, name }) => ({ pid, uid: name })))); // all that tells them apart
    return (
        <>
            <div class="head">
                <h1 class="grow">Processes <span class="quiet">{found.length === all.length ? all.length : `${found.length} of ${all.length}`}</span></h1>
                <Badge>your key shows metrics only</Badge>
                <input type="search" placeholder="Search name or pid" aria-label="Search processes" value={query}
                    onInput={(event) => setParams({ q: event.currentTarget.value })} />
            </div>
            <ul class="processes">
                {found.map(({ pid, name }) => (
                    <li key={pid} class="card process">
                        <div class="who"><h2 class="cut"><a href={link(["process", pid])}>{clean(name)}</a></h2><div class="facts"><span>pid {pid}</span></div></div>
                        <Vitals pid={pid} live={live.get(pid)} />
                    </li>
                ))}
            </ul>
        </>
    );
}
