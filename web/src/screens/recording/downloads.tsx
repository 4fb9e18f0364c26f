/* A recording as a file, in each format with what reads it; and in speedscope, in a new tab. */
import { useState } from "preact/hooks";
import { apiUrl, reaches, type Recording, type Scope } from "../../api";
import { bytes } from "../../format";
import { session, useCell } from "../../store";
import { Icon } from "../../ui/icons";
import { Card } from "../../ui/parts";
import { viewWord } from "../recordings/history_data";
import { isActive, sizeOf, titleOf } from "../recordings/words";
import type { Report } from "./report";
import type { TabProps } from "./summary";

interface Format {
    id: string;
    title: string;
    ending: string;
    reads: string;
    of: "trace" | "archive" | "both";
    byView?: boolean; // holds one view
    scope?: Scope;
}

const FORMATS: Format[] = [
    { id: "nettrace", title: "As it is", ending: ".nettrace", reads: "PerfView, Visual Studio, dotnet-trace, TraceEvent and sonde read it.", of: "trace" },
    { id: "zip", title: "As it is", ending: ".sonde.zip", reads: "Everything, for sonde and for opening here again. Holds texts of programs as they are.", of: "archive", scope: "secrets" },
    { id: "cpu", title: "CPU time beside it", ending: ".nettrace.cpu", reads: "Keep it next to the .nettrace file: with it sonde tells CPU time from waiting.", of: "trace" },
    { id: "html", title: "A page of its own", ending: ".html", reads: "Any browser, without sonde and without a network: a flame graph to send to somebody.", of: "both", byView: true },
    { id: "speedscope", title: "speedscope", ending: ".speedscope.json", reads: "speedscope, here or elsewhere: time order, left heavy, sandwich.", of: "both", byView: true },
    { id: "chrome", title: "Chrome and Perfetto", ending: ".chrome.json", reads: "ui.perfetto.dev, chrome://tracing and Edge: threads over time.", of: "both", byView: true },
    { id: "pprof", title: "pprof", ending: ".pb.gz", reads: "go tool pprof, Grafana Pyroscope, Polar Signals and others.", of: "both", byView: true },
    { id: "collapsed", title: "Collapsed stacks", ending: ".folded", reads: "flamegraph.pl, inferno and grep: one stack a line.", of: "both", byView: true },
    { id: "ndjson", title: "Events as JSON", ending: ".ndjson", reads: "jq, DuckDB, pandas: one event a line. Large.", of: "both" },
    { id: "nettrace6", title: "NetTrace 6", ending: ".6.nettrace", reads: "The newest PerfView and TraceEvent; many processes in one file.", of: "both" },
    { id: "nettrace4", title: "NetTrace 4", ending: ".4.nettrace", reads: "Tools that read traces of .NET 8 and before.", of: "both" },
    { id: "perfcollect", title: "perfcollect", ending: ".trace.zip", reads: "PerfView, as from perfcollect on Linux. Holds texts of programs as they are.", of: "archive", scope: "secrets" },
];

export function isArchive(recording: Recording): boolean {
    return recording.kind === "record" || (recording.kind === "upload" && !/\.nettrace$/i.test(recording.fileName ?? ""));
}

export function downloadUrl(id: string, format: string, view = "", process = ""): string {
    return apiUrl(`recordings/${encodeURIComponent(id)}/download`, { format, view, process });
}

/* speedscope lies beside the page and reads the profile from the same controller. */
export function speedscopeUrl(recording: Recording, view: string, process: string): string {
    const url = new URL("speedscope/", document.baseURI);
    const profile = encodeURIComponent(downloadUrl(recording.id, "speedscope", view, process));
    return `${url.href}#profileURL=${profile}&title=${encodeURIComponent(titleOf(recording))}`;
}

function FormatLine({ format, href, why, size }: { format: Format; href: string; why: string; size: string }) {
    return (
        <li class="rec-format">
            <div>
                <h3>{format.title} <span class="mono quiet">{format.ending}</span></h3>
                <p class="quiet">{format.reads}{size && ` ${size}.`}</p>
                {why && <p class="rec-lost">{why}</p>}
            </div>
            {why ? <button type="button" disabled>Download</button>
                : <a class="button" href={href} download aria-label={`Download as ${format.title} ${format.ending}`}><Icon name="download" />Download</a>}
        </li>
    );
}

function viewsOf(report: Report | null): string[] {
    const found = Object.entries(report?.profiles ?? {}).filter(([, top]) => top.total > 0).map(([id]) => id);
    const order = ["cpu", "wait", "wall", "alloc", "exceptions", "contention", "samples"];
    return found.sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

export function SpeedscopeLink({ recording, view, process }: { recording: Recording; view: string; process: string }) {
    return <a class="button" href={speedscopeUrl(recording, view, process)} target="_blank" rel="noopener">Open in speedscope<span class="only-read"> (new tab)</span></a>;
}

export function Downloads({ recording, route, process, report }: TabProps & { report: Report | null }) {
    const scope = useCell(session)?.scope ?? "none";
    const views = viewsOf(report);
    const [chosen, setChosen] = useState(route.params.get("view") ?? "");
    const view = views.includes(chosen) ? chosen : (views[0] ?? "");
    const formats = FORMATS.filter((one) => one.of === "both" || (one.of === "archive") === isArchive(recording));
    const why = (format: Format) => (format.scope && !reaches(scope, format.scope) ? `Needs a key with the scope ${format.scope}: take NetTrace 6 or the page instead.`
        : format.byView && views.length === 0 ? "It has no stacks, which this format is made of." : isActive(recording) && format.id === "cpu" ? "When it has ended." : "");
    const line = (format: Format) => (
        <FormatLine key={format.id} format={format} why={why(format)} href={downloadUrl(recording.id, format.id, format.byView ? view : "", process)}
            size={format.id === "nettrace" || format.id === "zip" ? bytes(sizeOf(recording)) : ""} />
    );
    return (
        <>
            <Card title="The recording"><ul class="rec-formats">{formats.filter((one) => !one.byView).map(line)}</ul></Card>
            <Card title="Profiles made of it" tools={views.length > 0 && (
                <div class="row">
                    <label class="rec-picker">
                        <span class="quiet">Of</span>
                        <select value={view} aria-label="What is counted" onChange={(event) => setChosen(event.currentTarget.value)}>
                            {views.map((one) => <option key={one} value={one}>{viewWord(one)}</option>)}
                        </select>
                    </label>
                    <SpeedscopeLink recording={recording} view={view} process={process} />
                </div>
            )}>
                <ul class="rec-formats">{formats.filter((one) => one.byView).map(line)}</ul>
            </Card>
        </>
    );
}
