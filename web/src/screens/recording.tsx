/* One recording: how it fares, what it says, its flame graph, its time line, its files, how it was made. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ApiError, patch, path, reaches, type Recording } from "../api";
import { bytes, count, moment, seconds } from "../format";
import { addressOf, go, link, setParams, type Route } from "../route";
import { session, useCell, useProcesses, useRecordings } from "../store";
import { Boundary } from "../ui/boundary";
import { Icon } from "../ui/icons";
import { Action, Card, Empty, Loading, Notice, Tabs } from "../ui/parts";
import { Downloads, SpeedscopeLink } from "./recording/downloads";
import { RecordingFlame } from "./flame/recording";
import { MadeWith } from "./recording/made_with";
import { Progress, Remarks } from "./recording/progress";
import "./recording/recording.css";
import type { Report } from "./recording/report";
import { Summary } from "./recording/summary";
import { TimelineTab } from "./recording/timeline";
import { DeleteButton, ShareButton, StartButton, StopButton } from "./recordings/actions";
import { useAnswer } from "./recordings/answer";
import { flameView } from "./recordings/history_data";
import { presetOf } from "./recordings/presets";
import "./recordings/recordings.css";
import { StateBadge } from "./recordings/rows";
import { aboutOf, hasData, isActive, numberOf, ownerOf, secondsOf, sizeOf, titleOf, whenOf } from "./recordings/words";

const TABS = [["", "Summary"], ["flame", "Flame graph"], ["timeline", "Time line"], ["downloads", "Downloads"], ["settings", "Settings"]] as const;

/* As the stream has it now, with the settings, which only the resource itself tells. */
function useRecording(id: string): { recording: Recording | null; problem: ApiError | null; retry: () => void } {
    const live = useRecordings()?.find((one) => one.id === id);
    const { answer, problem, retry } = useAnswer<Recording>(path`recordings/${id}`, live?.state, id);
    const settings = answer?.id === id ? answer.settings : undefined;
    if (live)
        return { recording: { ...live, ...(settings ? { settings } : {}) }, problem: null, retry };
    return { recording: answer?.id === id ? answer : null, problem, retry };
}

function Facts({ recording }: { recording: Recording }) {
    const long = secondsOf(recording);
    const events = numberOf(recording, "events");
    const { process } = recording;
    const isHere = useProcesses()?.some((one) => one.pid === process?.pid && one.uid === process.uid) ?? false; // numbers are used again
    return (
        <div class="facts">
            <span>{process && isHere && recording.kind !== "upload" ? <a href={link(["process", process.pid])}>{aboutOf(recording)}</a> : aboutOf(recording)}</span>
            <span>{recording.kind === "upload" ? `opened ${moment(whenOf(recording))}` : moment(whenOf(recording))}</span>
            {long !== null && <span>{seconds(Math.round(long * 10) / 10)}</span>}
            {sizeOf(recording) > 0 && <span>{bytes(sizeOf(recording))}</span>}
            {events !== null && events > 0 && <span>{count(events)} events</span>}
            <span>by {ownerOf(recording)}</span>
        </div>
    );
}

function Head({ recording, mayControl, view, process }: { recording: Recording; mayControl: boolean; view: string; process: string }) {
    return (
        <div class="head">
            <div class="grow">
                <a class="rec-back" href={link(["recordings"])}><Icon name="back" />Recordings</a>
                <h1>{titleOf(recording)} <StateBadge recording={recording} /></h1>
                <Facts recording={recording} />
            </div>
            <div class="row">
                {mayControl && recording.state === "Configured" && <StartButton recording={recording} />}
                {mayControl && isActive(recording) && <StopButton recording={recording} />}
                {hasData(recording) && !isActive(recording) && <SpeedscopeLink recording={recording} view={view} process={process} />}
                <ShareButton recording={recording} />
                {mayControl && !isActive(recording) && <DeleteButton recording={recording} withWord onDone={() => go(link(["recordings"]))} />}
            </div>
        </div>
    );
}

function Another({ recording, children }: { recording: Recording; children: string }) {
    const preset = presetOf(recording.kind, recording.settings ?? {});
    return <a class="button" href={link(["recordings"], { new: recording.process?.pid ?? "any", preset: preset?.id })}>{children}</a>;
}

/* What stands between a person and the data, and what to do about it. */
function Standing({ recording, mayControl }: { recording: Recording; mayControl: boolean }) {
    const another = mayControl ? <Another recording={recording}>Configure another</Another> : undefined;
    if (recording.live) {
        const keep = <Action run={() => patch(path`recordings/${recording.id}`, { live: false })}>Keep it</Action>;
        return <Notice action={mayControl ? keep : undefined}>This is a live look at a process. It ends and is deleted when nobody looks any more, unless you keep it.</Notice>;
    }
    if (recording.state === "Failed")
        return <Notice mood="bad" action={another}>It failed: {recording.message || "nothing more is known"}. {hasData(recording) ? "What came before is below." : "Nothing was recorded."}</Notice>;
    if (recording.state === "Cancelled")
        return <Notice mood="warn" action={another}>It was cancelled. {recording.message} {hasData(recording) ? "What came before is below." : "Nothing was kept."}</Notice>;
    return recording.state === "Succeeded" && recording.message ? <Notice>{recording.message}</Notice> : null;
}

function NoData({ recording, mayControl }: { recording: Recording; mayControl: boolean }) {
    if (recording.state === "Configured") {
        return (
            <Card><Empty title="It has not started yet" action={mayControl ? <StartButton recording={recording} /> : undefined}>
                {mayControl ? "It is configured and waits for you." : "It is configured. Starting it needs a key with the scope control."}
            </Empty></Card>
        );
    }
    if (isActive(recording)) {
        return (
            <Card><Empty title={recording.kind === "record" ? "The archive is made at its end" : "The first events are on their way"}>
                {recording.kind === "record" ? "Stop it when you have seen enough; summary, flame graph and time line come within a second or two." : "This page follows by itself."}
            </Empty></Card>
        );
    }
    if (recording.state === "Failed" || recording.state === "Cancelled")
        return <MadeWith recording={recording} />; // why is said above
    return <Card><Empty title="There is nothing in it" action={mayControl ? <Another recording={recording}>Configure another</Another> : undefined}>It ended before anything was written.</Empty></Card>;
}

/* Which process of a recording of the machine is looked at. */
function ProcessPicker({ report, process }: { report: Report | null; process: string }) {
    const all = report?.machine?.processes.filter((one) => one.pid > 0) ?? [];
    if (all.length < 2 && !process)
        return null; // of one that was chosen the report has that one only: the way back must stay
    return (
        <label class="rec-picker">
            <span class="quiet">Process</span>
            <select value={process} onChange={(event) => setParams({ process: event.currentTarget.value })}>
                <option value="">All of the machine</option>
                {all.map((one) => <option key={one.pid} value={String(one.pid)}>{one.name}, {one.kind}, {seconds(one.cpuNs / 1e9)} CPU</option>)}
            </select>
        </label>
    );
}

function reportAddress(recording: Recording, process: string): string | null {
    if (!hasData(recording) || isActive(recording))
        return null;
    return `${path`recordings/${recording.id}`}/report${process ? `?process=${encodeURIComponent(process)}` : ""}`;
}

function Content({ recording, route, at, mayControl }: { recording: Recording; route: Route; at: string; mayControl: boolean }) {
    const process = route.params.get("process") ?? "";
    const { answer: report, problem } = useAnswer<Report>(reportAddress(recording, process), "", `${recording.id} ${process}`);
    const props = { recording, route, process };
    const number = (name: string) => { const value = Number.parseFloat(route.params.get(name) ?? ""); return Number.isFinite(value) ? value : undefined; };
    useEffect(() => {
        const views = Object.keys(report?.profiles ?? {});
        if (at === "flame" && !route.params.has("view") && views.length && !views.includes("cpu"))
            setParams({ view: flameView(views[0]!) }); // there is no CPU time in it
    }, [at, report]);
    const isLiveTrace = isActive(recording) && recording.kind === "trace" && hasData(recording);
    const withPicker = (child: ComponentChildren) => <><ProcessPicker report={report} process={process} />{child}</>;
    if (at === "settings")
        return <MadeWith recording={recording} />;
    if (!hasData(recording))
        return <NoData recording={recording} mayControl={mayControl} />;
    if (at === "flame")
        return withPicker(<RecordingFlame recordingId={recording.id} route={route} process={process || undefined} from={number("from")} to={number("to")} />);
    if (isLiveTrace && at === "")
        return <Card><Empty title="It is still recording" action={<a class="button" href={link(["recording", recording.id, "flame"])}>Flame graph so far</a>}>The summary comes when it has ended, with the names of methods. The flame graph and the time line move already.</Empty></Card>;
    if (at === "timeline")
        return withPicker(<TimelineTab {...props} />);
    if (at === "downloads")
        return withPicker(<Downloads {...props} report={report} />);
    return withPicker(<Summary {...props} report={report} problem={problem?.message ?? ""} />);
}

function Problem({ problem, retry }: { problem: ApiError; retry: () => void }) {
    if (problem.status === 404)
        return <Empty title="There is no such recording" action={<a class="button" href={link(["recordings"])}>All recordings</a>}>It was deleted, or was too old to be kept.</Empty>;
    return <Empty title="The recording cannot be shown" action={<button type="button" onClick={retry}>Try again</button>}>{problem.message}</Empty>;
}

export function RecordingScreen({ route }: { route: Route }) {
    const id = route.path[1] ?? "";
    return <OneRecording key={id} id={id} route={route} />; // nothing of another one stays
}

function OneRecording({ id, route }: { id: string; route: Route }) {
    const at = TABS.find(([tab]) => tab === (route.path[2] ?? ""))?.[0] ?? "";
    const scope = useCell(session)?.scope ?? "none";
    const { recording, problem, retry } = useRecording(id);
    const process = route.params.get("process") ?? "";
    useEffect(() => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [at, recording?.id]);
    if (!reaches(scope, "read"))
        return <Empty title="Your key does not reach recordings" action={<a class="button" href={link([])}>All processes</a>}>They need a key with the scope read; yours has {scope}.</Empty>;
    if (problem && !recording)
        return <Problem problem={problem} retry={retry} />;
    if (!recording)
        return <Loading what="Looking for the recording…" />;
    const mayControl = reaches(scope, "control");
    const isBare = !hasData(recording) && (recording.state === "Failed" || recording.state === "Cancelled");
    const tabs = TABS.map(([tab, label]) => ({ id: tab, label, href: link(["recording", id, ...(tab ? [tab] : [])], { process }) }));
    return (
        <>
            <Head recording={recording} mayControl={mayControl} view={route.params.get("view") ?? ""} process={process} />
            <Standing recording={recording} mayControl={mayControl} />
            <Progress recording={recording} />
            {!isBare && <Tabs tabs={tabs} at={at} label="Views of the recording" />}
            <Boundary at={addressOf(route)}><Content recording={recording} route={route} at={at} mayControl={mayControl} /></Boundary>
            <Remarks recording={recording} />
        </>
    );
}
