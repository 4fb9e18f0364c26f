/* History: methods of a process from recording to recording, and processes that were here. */
import { apiUrl, type Recording } from "../../api";
import { moment, percent } from "../../format";
import { link, setParams, type Route } from "../../route";
import { useRecordings } from "../../store";
import { Chart } from "../../ui/chart";
import { Card, Choice, Empty, Loading, Notice } from "../../ui/parts";
import { Spark } from "../../ui/spark";
import { Table, type Column } from "../../ui/table";
import { useAnswer } from "./answer";
import { flameView, methodLines, processNames, viewsOf, viewWord, type Hit, type Measure, type MethodLine } from "./history_data";
import { Gone } from "./gone";
import { titleOf } from "./words";

const MOST_HITS = 10_000;
const SHOWN = 25;

function methodColumns(chosen: (line: MethodLine) => string, measure: Measure): Column<MethodLine>[] {
    return [
        { id: "method", label: "Method", sort: (one) => one.method, cell: (one) => (
            <div class="rec-recording-name"><a class="mono rec-method" href={chosen(one)}>{one.method}</a><div class="facts"><span>{one.module || "not known where"}</span></div></div>
        ) },
        { id: "line", label: "Over time", class: "rec-wide rec-line", cell: (one) => (
            <Spark values={one.points.map((point) => point[measure])} span={Math.max(1, one.points.length - 1)} least={0.02} label={`Share of ${one.method}, now ${percent(one.latest)}`} />
        ) },
        { id: "latest", label: "Latest", isNumber: true, sort: (one) => one.latest, cell: (one) => percent(one.latest) },
        { id: "change", label: "Change", isNumber: true, sort: (one) => one.change, cell: (one) => <ChangeCell change={one.change} /> },
        { id: "most", label: "Most", isNumber: true, sort: (one) => one.most, cell: (one) => percent(one.most), class: "rec-wide" },
    ];
}

function ChangeCell({ change }: { change: number }) {
    if (Math.abs(change) < 0.0005)
        return <span class="quiet">same</span>;
    return <span class={change > 0 ? "rec-worse" : "rec-better"}>{change > 0 ? "+" : "−"}{percent(Math.abs(change))}</span>;
}

function Pickers({ route, hits, process, view, measure }: { route: Route; hits: Hit[]; process: string; view: string; measure: Measure }) {
    return (
        <div class="row">
            <select aria-label="Process" value={process} onChange={(event) => setParams({ process: event.currentTarget.value || "-", view: "", method: "" })}>
                {processNames(hits).map((name) => <option key={name} value={name}>{name || "the machine"}</option>)}
            </select>
            <select aria-label="What is counted" value={view} onChange={(event) => setParams({ view: event.currentTarget.value, method: "" })}>
                {viewsOf(hits, process).map((one) => <option key={one} value={one}>{viewWord(one)}</option>)}
            </select>
            <Choice label="Share" value={measure} onChange={(value) => setParams({ share: value === "self" ? "" : value })}
                options={[["self", "In itself"], ["total", "With what it calls"]]} />
            <input type="search" placeholder="Search methods" aria-label="Search methods" value={route.params.get("q") ?? ""}
                onInput={(event) => setParams({ q: event.currentTarget.value })} />
        </div>
    );
}

/* One method: its share in each recording, and the way to each. */
function OneMethod({ line, recordings, view }: { line: MethodLine; recordings: Recording[]; view: string }) {
    const names = new Map(recordings.map((one) => [one.id, titleOf(one)]));
    return (
        <Card title={<span class="mono rec-method">{line.method}</span>} tools={<button type="button" class="plain" onClick={() => setParams({ method: "" })}>Close</button>}>
            {line.points.length > 1 && (
                <Chart label={`Share of ${line.method} over time`} times={line.points.map((point) => point.time)} format={percent} height={140}
                    series={[{ label: "with what it calls", values: line.points.map((point) => point.total), colour: "--c6" },
                        { label: "in itself", values: line.points.map((point) => point.self), colour: "--c2" }]} />
            )}
            <ul class="rec-history-points">
                {[...line.points].reverse().slice(0, 20).map((point) => (
                    <li key={point.recording}>
                        <span class="quiet">{moment(new Date(point.time * 1000).toISOString())}</span>
                        {names.has(point.recording)
                            ? <a href={link(["recording", point.recording, "flame"], { view: flameView(view), search: line.method })}>{names.get(point.recording)}</a>
                            : <span class="quiet">its file is gone</span>}
                        <span class="number">{percent(point.self)} in itself, {percent(point.total)} in all</span>
                    </li>
                ))}
            </ul>
        </Card>
    );
}

function Methods({ route, hits }: { route: Route; hits: Hit[] }) {
    const names = processNames(hits);
    const asked = route.params.get("process");
    const process = asked === "-" ? "" : asked !== null && names.includes(asked) ? asked : (names.find((name) => name !== "") ?? "");
    const views = viewsOf(hits, process);
    const view = views.find((one) => one === route.params.get("view")) ?? views[0] ?? "cpu";
    const measure: Measure = route.params.get("share") === "total" ? "total" : "self";
    const search = (route.params.get("q") ?? "").toLowerCase();
    const recordings = useRecordings() ?? [];
    const all = methodLines(hits, process, view, measure);
    const found = all.filter((one) => `${one.module} ${one.method}`.toLowerCase().includes(search)).sort((a, b) => b.most - a.most);
    const shown = route.params.get("all") ? found : found.slice(0, SHOWN);
    const chosen = all.find((one) => one.method === route.params.get("method"));
    const address = (line: MethodLine) => link(route.path, { ...Object.fromEntries(route.params), method: line.method });
    const made = all[0]?.points.length ?? 0;
    return (
        <>
            <Card flush title={`Methods in ${made} ${made === 1 ? "recording" : "recordings"}`} tools={<Pickers route={route} hits={hits} process={process} view={view} measure={measure} />}>
                {made === 1 && <p class="rec-hint rec-pad">There is one recording of this so far. Make another, and what changed shows here.</p>}
                {shown.length ? <Table rows={shown} columns={methodColumns(address, measure)} rowKey={(one) => `${one.module}/${one.method}`} start={{ id: "latest", down: true }} caption="Methods over time" />
                    : <Empty title="No method matches" action={<button type="button" onClick={() => setParams({ q: "" })}>Show all</button>}>{all.length} methods are known here.</Empty>}
                {shown.length < found.length && <div class="rec-more"><button type="button" onClick={() => setParams({ all: 1 })}>Show all {found.length} methods</button></div>}
            </Card>
            {chosen && <OneMethod line={chosen} recordings={recordings} view={view} />}
        </>
    );
}

export function History({ route }: { route: Route }) {
    const { answer, problem } = useAnswer<{ methods: Hit[]; isTruncated: boolean }>(`history/methods?method=*&limit=${MOST_HITS}`);
    if (problem) {
        return (
            <Empty title="There is no history">
                {problem.message}. Start the controller without <code>--no-store</code> to keep it.
            </Empty>
        );
    }
    if (!answer)
        return <Loading what="Reading what is kept…" />;
    return (
        <>
            {answer.isTruncated && <Notice>There is more than can be shown: the {MOST_HITS} largest shares of all recordings are here. <a href={apiUrl("history/methods", { method: "*", limit: MOST_HITS })}>As JSON</a></Notice>}
            {answer.methods.length ? <Methods route={route} hits={answer.methods} /> : (
                <Card><Empty title="No methods are kept yet" action={<a class="button" href={link(["recordings"], { new: "any", preset: "cpu" })}>New recording</a>}>
                    Every recording that has ended leaves its hottest methods here, so that they can be compared over weeks.
                </Empty></Card>
            )}
            <Gone route={route} />
        </>
    );
}
