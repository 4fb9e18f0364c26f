/* One process: what it is, what it does now, and its tabs: `#/process/PID/TAB`. */
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reaches, type Process, type Scope } from "../api";
import { clean } from "../format";
import { addressOf, link, type Route } from "../route";
import { session, useCell } from "../store";
import { Boundary } from "../ui/boundary";
import { Empty, Loading, Notice, Tabs } from "../ui/parts";
import { ContentionTab } from "./process/contention";
import { CountersTab } from "./process/counters";
import { EnvironmentTab } from "./process/environment";
import { ExceptionsTab } from "./process/exceptions";
import { FlameTab } from "./process/flame";
import { GcTab } from "./process/gc";
import { Header } from "./process/header";
import { LogsTab } from "./process/logs";
import { Overview } from "./process/overview";
import { usePresence, type Presence } from "./process/presence";
import "./process/process.css";
import { RequestsTab } from "./process/requests";
import type { TabProps } from "./process/tab";
import { ThreadsTab } from "./process/threads";
import { useLiveFrame, useView, windowOf } from "./process/use_frame";

const TABS: { id: string; label: string; tab: ComponentType<TabProps>; needs?: Scope }[] = [
    { id: "overview", label: "Overview", tab: Overview, needs: "metrics" },
    { id: "counters", label: "Counters", tab: CountersTab, needs: "metrics" },
    { id: "flame", label: "Flame graph", tab: FlameTab },
    { id: "threads", label: "Threads", tab: ThreadsTab },
    { id: "gc", label: "GC", tab: GcTab },
    { id: "exceptions", label: "Exceptions", tab: ExceptionsTab },
    { id: "contention", label: "Contention", tab: ContentionTab },
    { id: "requests", label: "Requests", tab: RequestsTab },
    { id: "logs", label: "Logs", tab: LogsTab },
    { id: "environment", label: "Environment", tab: EnvironmentTab },
];

/* What there is only where the runtime answers. */
const FROM_RUNTIME = new Set(["flame", "gc", "exceptions", "contention", "requests", "logs"]);

export function ProcessScreen({ route }: { route: Route }) {
    const pid = Number(route.path[1]);
    if (!Number.isInteger(pid) || pid <= 0)
        return <Unknown what="This address names no process." />;
    return <One key={pid} pid={pid} route={route} />;
}

function Unknown({ what }: { what: string }) {
    return <Empty title="No such process" action={<a class="button" href="#/">All processes</a>}>{what}</Empty>;
}

function One({ pid, route }: { pid: number; route: Route }) {
    const presence = usePresence(pid);
    if (presence.state === "asking")
        return <Loading what="Looking for the process…" />;
    if (presence.state === "unknown")
        return <Unknown what={`There is no .NET process ${pid} now, and ${presence.why ? `the history cannot be asked: ${clean(presence.why)}` : "the history knows of none"}.`} />;
    return <Known key={presence.process.uid} pid={pid} route={route} presence={presence} />;
}

function Known({ pid, route, presence }: { pid: number; route: Route; presence: Extract<Presence, { process: Process }> }) {
    const { process } = presence;
    const hasEnded = presence.state === "ended";
    const live = useLiveFrame(presence.wasHere ? pid : null);
    const window = hasEnded && !presence.wasHere ? endWindow(windowOf(route), presence.lastSeen) : windowOf(route);
    const view = useView(pid, window, live);
    const at = TABS.find((one) => one.id === (route.path[2] ?? "overview"));
    const scope = useCell(session)?.scope ?? "none";
    const isAllowed = ({ needs = "read" }: { needs?: Scope }) => reaches(scope, needs);
    const tabs = TABS.filter(isAllowed).map(({ id, label }) => ({ id, label, href: link(["process", pid, id], { range: route.params.get("range") }) }));
    const Tab = at?.tab;
    const hasAnswered = useRef(false); // what was shown stays while it does not, or dies
    hasAnswered.current ||= process.isReachable;
    const needsRuntime = !hasEnded && !hasAnswered.current && at !== undefined && FROM_RUNTIME.has(at.id);
    useEffect(() => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [at?.id]);
    return (
        <>
            <Header process={process} live={live} hasEnded={hasEnded} wasHere={presence.wasHere} />
            {hasEnded && <Ended pid={pid} process={process} lastSeen={presence.lastSeen} />}
            {!hasEnded && !process.isReachable && <Notice mood="warn">Its runtime cannot be asked: {clean(process.reason)}.{process.fix && <> To change that: {clean(process.fix)}.</>} Its threads can be read nevertheless.</Notice>}
            <Tabs tabs={tabs} at={at?.id ?? ""} label="About this process" />
            {at && !isAllowed(at) && <Notice mood="warn">This needs a log-in with scope read; yours has scope {scope}.</Notice>}
            {Tab
                ? isAllowed(at) && (
                    <Boundary key={at.id} at={addressOf(route)}>
                        {needsRuntime ? (
                            <Empty title="Not possible with this process" action={<a class="button primary" href={link(["process", pid, "threads"])}>Threads</a>}>
                                Its runtime tells what this tab shows, and it cannot be asked: {clean(process.reason)}.
                            </Empty>
                        ) : (
                            <Tab pid={pid} process={process} hasEnded={hasEnded} route={route} live={live} view={view} window={window} />
                        )}
                    </Boundary>
                )
                : <Empty title="There is no such tab" action={<a class="button" href={link(["process", pid])}>Overview</a>} />}
        </>
    );
}

/* "Live" of a process that had ended before we came: its last five minutes. */
function endWindow(window: ReturnType<typeof windowOf>, lastSeen: number): ReturnType<typeof windowOf> {
    if (window.from !== null || window.range !== "5m")
        return window;
    return { range: "5m", from: Math.floor(lastSeen) - 300, to: Math.ceil(lastSeen) + 1, isChosen: false };
}

function Ended({ pid, process, lastSeen }: { pid: number; process: Process; lastSeen: number }) {
    const when = new Date(lastSeen * 1000);
    const mayRead = reaches(useCell(session)?.scope ?? "none", "read");
    return (
        <Notice mood="warn" action={(
            <div class="row">
                <a class="button" href={link(["process", pid, "counters"], { range: "24h" })}>Its history</a>
                {mayRead && <a class="button" href={link(["recordings"], { q: process.name })}>Recordings</a>}
            </div>
        )}>
            <b>{process.name}</b> (process {pid}) has ended; it was last seen at {when.toLocaleTimeString(undefined, { hour12: false })}. What is shown is from before.
        </Notice>
    );
}
