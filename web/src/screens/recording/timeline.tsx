/* The time line of a recording: choose a second of it, and see its flame graph below. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { count, percent, seconds } from "../../format";
import { link, setParams, type Route } from "../../route";
import { Card, Choice, Empty, Loading } from "../../ui/parts";
import { RecordingFlame } from "../flame/recording";
import { useAnswer } from "../recordings/answer";
import { isActive, secondsOf } from "../recordings/words";
import { hasAllOf, within, type FullTimeline, type Window, type Within } from "./lanes";
import type { TabProps } from "./summary";
import { TimelineCanvas } from "./timeline_canvas";

const FEW = 16;
const BUCKETS = 600;
const SPAN_BUCKETS = 10; // of which only the sum is shown
const SETTLED_MS = 250;
const FRESH_SECONDS = 5; // of one that is still being made

function windowOf(route: Route, from: string, to: string): Window | null {
    const a = Number.parseFloat(route.params.get(from) ?? "");
    const b = Number.parseFloat(route.params.get(to) ?? "");
    return Number.isFinite(a) && Number.isFinite(b) && b > a && a >= 0 ? { from: a, to: b } : null;
}

const fixed = (value: number): string => String(Number(value.toFixed(4)));

function setSpan(span: Window | null): void {
    setParams({ from: span ? fixed(span.from) : "", to: span ? fixed(span.to) : "" });
}

function setView(view: Window | null): void {
    setParams({ left: view ? fixed(view.from) : "", right: view ? fixed(view.to) : "" });
}

/* The span in numbers: exact, and without a pointer. */
function SpanFields({ span, duration }: { span: Window | null; duration: number }) {
    const field = (label: string, value: number | undefined, set: (value: number) => Window) => (
        <label class="rec-span-field">
            <span>{label}</span>
            <input type="number" min={0} max={duration} step="any" value={value === undefined ? "" : fixed(value)} aria-label={`${label}, seconds`}
                onChange={(event) => { const number = Number(event.currentTarget.value); if (Number.isFinite(number)) setSpan(set(number)); }} />
            <span>s</span>
        </label>
    );
    return (
        <div class="row">
            {field("From", span?.from, (value) => ({ from: value, to: Math.max(span?.to ?? duration, value + 0.001) }))}
            {field("to", span?.to, (value) => ({ from: Math.min(span?.from ?? 0, value - 0.001), to: value }))}
        </div>
    );
}

function SpanWords({ what, problem }: { what: Within | null; problem: string }) {
    if (!what)
        return <div class="facts"><span class="quiet">{problem || "Counting…"}</span></div>;
    const words = [
        what.cpu === null ? "" : `CPU ${percent(what.cpu)}`,
        what.collections ? `${what.collections} ${what.collections === 1 ? "collection" : "collections"}, paused ${seconds(what.pauseMilliseconds / 1000)}` : "",
        what.requests ? `${count(what.requests)} ${what.requests === 1 ? "request" : "requests"}` : "",
        what.exceptions ? `${count(what.exceptions)} ${what.exceptions === 1 ? "exception" : "exceptions"}` : "",
    ].filter(Boolean);
    return <div class="facts">{words.map((word) => <span key={word}>{word}</span>)}</div>;
}

/* What happened in a span. The time line that is drawn lists the longest requests and collections; where that is not all, the
 * controller is asked about the span alone. */
function useWithin(data: FullTimeline, span: Window, recording: string, process: string): { what: Within | null; problem: string } {
    const isKnown = hasAllOf(data, span);
    const query = new URLSearchParams({ buckets: String(SPAN_BUCKETS), ...(process ? { process } : {}), from: fixed(span.from), to: fixed(span.to) });
    const address = `recordings/${encodeURIComponent(recording)}/timeline?${query.toString()}`;
    const { answer, problem, isOld } = useAnswer<FullTimeline>(isKnown ? null : address, String(data.durationSeconds), `${recording} ${process}`);
    const what = useMemo(() => {
        if (isKnown)
            return within(data, span);
        return answer && !isOld ? within(answer, { from: answer.from, to: answer.to }) : null;
    }, [isKnown, data, answer, isOld, span.from, span.to]);
    return { what, problem: problem?.message ?? "" };
}

/* A span as it is when it has stayed the same for a moment: keys and handles change it often, and each is a question. */
function useSettled(span: Window): Window {
    const [settled, setSettled] = useState(span);
    useEffect(() => {
        const timer = setTimeout(() => setSettled(span), SETTLED_MS);
        return () => clearTimeout(timer);
    }, [span.from, span.to]);
    return settled;
}

function SpanFlame({ data, span, recording, route, process }: TabProps & { data: FullTimeline; span: Window }) {
    const asked = useSettled(span);
    const { what, problem } = useWithin(data, asked, recording.id, process);
    const isIdle = (route.params.get("view") ?? "cpu") === "cpu" && what?.cpu === 0;
    return (
        <section class="rec-span-flame" aria-label="Flame graph of the chosen span">
            <div class="head">
                <h2>{seconds(Number((span.to - span.from).toPrecision(3)))} from {seconds(Number(span.from.toPrecision(4)))}</h2>
                <div class="grow"><SpanWords what={what} problem={problem} /></div>
                <a class="button" href={link(["recording", recording.id, "flame"], { process, view: route.params.get("view"), from: fixed(span.from), to: fixed(span.to) })}>On its own page</a>
            </div>
            {isIdle ? <Card><Empty title="Nothing ran in this span">No thread used the CPU then. Choose a longer span, or one where a thread's lane is filled.</Empty></Card>
                : <RecordingFlame recordingId={recording.id} route={route} process={process || undefined} from={asked.from} to={asked.to} />}
        </section>
    );
}

/* What the lanes are of, where that is not plain. */
function Whose({ data, process }: { data: FullTimeline; process: string }) {
    const words = [
        data.runtime && !process ? `Collections, requests and exceptions are those of ${data.runtime.name} (${data.runtime.pid}); choose a process above for another's.` : "",
        data.basis === "samples" ? "CPU time was not recorded: threads count as running when samples saw them not waiting, which is mostly too much." : "",
        data.basis === "none" ? "It has no samples, so there are no threads to show." : "",
    ].filter(Boolean);
    return words.length ? <p class="rec-hint rec-pad">{words.join(" ")}</p> : null;
}

function Tools({ data, span, view }: { data: FullTimeline; span: Window | null; view: Window | null }) {
    return (
        <div class="row">
            <SpanFields span={span} duration={data.durationSeconds} />
            {span && <button type="button" onClick={() => setView(span)}>Zoom in</button>}
            {view && <button type="button" onClick={() => setView(null)}>Whole recording</button>}
            {span && <button type="button" class="plain" onClick={() => setSpan(null)}>Clear</button>}
        </div>
    );
}

export function TimelineTab(props: TabProps) {
    const { recording, route, process } = props;
    const [isAll, setAll] = useState(false);
    const span = windowOf(route, "from", "to");
    const view = windowOf(route, "left", "right");
    const query = new URLSearchParams({ buckets: String(BUCKETS), ...(process ? { process } : {}), ...(view ? { from: fixed(view.from), to: fixed(view.to) } : {}) });
    const { answer: data, problem, isOld, retry } = useAnswer<FullTimeline>(`recordings/${encodeURIComponent(recording.id)}/timeline?${query.toString()}`, isActive(recording) ? String(Math.floor((secondsOf(recording) ?? 0) / FRESH_SECONDS)) : "", `${recording.id} ${process}`);
    if (problem && !data)
        return <Card><Empty title={problem.status === 404 || problem.status === 422 ? "There is no time line" : "The time line cannot be shown now"} action={<button type="button" onClick={retry}>Try again</button>}>{problem.message}</Empty></Card>;
    if (!data)
        return <Loading what="Reading the recording…" />;
    const isEmpty = !data.threads.length && !data.gc.length && !data.requests.length && !data.cpu.some((value) => value > 0);
    if (isEmpty && !view)
        return <Card><Empty title="Nothing to put on a time line" action={<a class="button" href={link(["recording", recording.id])}>Summary</a>}>It has neither samples nor collections nor requests. Record with “Where time goes” or “The whole machine” to see threads here.</Empty></Card>;
    return (
        <>
            <Card flush title="Time line" tools={<Tools data={data} span={span} view={view} />}>
                <div class={isOld ? "rec-timeline-body rec-old" : "rec-timeline-body"} aria-busy={isOld}>
                    <TimelineCanvas data={data} view={view ?? { from: 0, to: data.durationSeconds }} span={span} shown={isAll ? 64 : FEW} onSpan={setSpan} onView={setView} />
                </div>
                <Whose data={data} process={process} />
                <footer class="rec-timeline-foot">
                    <p id="timeline-keys" class="rec-hint">Drag to choose a span; a click chooses a collection or a request. By keyboard: arrows move, Shift with arrows chooses, Enter zooms in, + and − zoom, Escape goes back.</p>
                    {data.threads.length > FEW && <Choice label="Threads shown" value={isAll ? "all" : "few"} onChange={(value) => setAll(value === "all")} options={[["few", `${FEW} threads`], ["all", `All ${data.threads.length}`]]} />}
                </footer>
            </Card>
            {span ? <SpanFlame {...props} data={data} span={span} />
                : <Card><Empty title="Choose a span above">Drag over the time line, and the flame graph of just that time appears here.</Empty></Card>}
        </>
    );
}
