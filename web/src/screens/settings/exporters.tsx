/* To whom the controller sends counters, and how that goes. */
import { bytes, count, moment } from "../../format";
import { Badge, Card, Notice } from "../../ui/parts";
import { Command, sentence } from "../login";
import { ago, type Exporter, type Scrapes, type SettingsData } from "./shapes";

const NAMES: Record<string, string> = { graphite: "Graphite", statsd: "StatsD", otlp: "OpenTelemetry (OTLP)", prometheus: "Prometheus page" };

function State({ exporter }: { exporter: Exporter }) {
    switch (exporter.state) {
    case "ok": return <Badge mood="good">{exporter.isAsked ? "scraped" : "sending"}</Badge>;
    case "waiting": return <Badge>{exporter.isAsked ? "not scraped yet" : "nothing to send yet"}</Badge>;
    case "failing": return <Badge mood="warn">failing, tried again</Badge>;
    default: return <Badge mood="bad">stopped</Badge>;
    }
}

/* What somebody can do about it, by what the receiver or the system said. */
export function nextStep(error: string): string {
    if (/refused/i.test(error) && !/\b4\d\d\b/.test(error))
        return "Nothing listens there: is the receiver running, and is the port right?";
    if (/look up|resolve|name or service/i.test(error))
        return "The name is not known: check its spelling and the machine's DNS.";
    if (/\b40[13]\b/.test(error))
        return "The receiver wants somebody to be: give a header in a file of --export.";
    if (/\b404\b/.test(error))
        return "The path is not the receiver's: OTLP usually takes metrics at /v1/metrics.";
    if (/certificate|TLS/i.test(error))
        return "Its certificate is not trusted: give ca-file in a file of --export.";
    if (/timed out|time|silent/i.test(error))
        return "It does not answer: a firewall between, or a receiver under load?";
    return "Values wait meanwhile, and go out when it is back; the oldest are dropped when the queue is full.";
}

function Trouble({ exporter }: { exporter: Exporter }) {
    if (exporter.lastError === "")
        return exporter.note ? <Notice>{sentence(exporter.note)}</Notice> : null;
    return <Notice mood={exporter.state === "failed" ? "bad" : "warn"}><b>{sentence(exporter.lastError)}</b> {nextStep(exporter.lastError)}</Notice>;
}

function One({ exporter }: { exporter: Exporter }) {
    return (
        <Card title={NAMES[exporter.kind] ?? exporter.kind} tools={<State exporter={exporter} />}>
            <div class="stack">
                <p><code class="address">{exporter.destination}</code></p>
                <Trouble exporter={exporter} />
                <dl class="pairs">
                    <dt>{exporter.isAsked ? "Scraped" : "Sent"}</dt>
                    <dd>{exporter.isAsked ? `${count(exporter.sent)} times` : `${bytes(exporter.sentBytes)} in ${count(exporter.sent)} messages`}</dd>
                    {!exporter.isAsked && <><dt>Values so far</dt><dd>{count(exporter.numbers)}, sent or waiting</dd></>}
                    <dt>{exporter.isAsked ? "Last scraped" : "Last success"}</dt>
                    <dd title={moment(exporter.lastSuccess)}>{ago(exporter.lastSuccess, "never")}</dd>
                    {!exporter.isAsked && <><dt>Failed attempts</dt><dd>{count(exporter.failed)}</dd></>}
                    {!exporter.isAsked && <><dt>Waiting</dt><dd>{bytes(exporter.queuedBytes)}</dd></>}
                    {!exporter.isAsked && <><dt>Dropped</dt><dd>{count(exporter.dropped)} values</dd></>}
                </dl>
            </div>
        </Card>
    );
}

function ScrapeCard({ scrapes }: { scrapes: Scrapes }) {
    const url = new URL("metrics", document.baseURI).href;
    const badge = !scrapes.isOn ? <Badge>off</Badge> : scrapes.last ? <Badge mood="good">scraped</Badge> : <Badge>not scraped yet</Badge>;
    return (
        <Card title="Prometheus" tools={badge}>
            <div class="stack">
                {scrapes.isOn
                    ? <p>Every counter of every process at <a class="address mono" href={url}>{url}</a>. Prometheus needs a key of the scope <b>metrics</b>.</p>
                    : <p>Counters are switched off, so that there is nothing to scrape.</p>}
                <dl class="pairs">
                    <dt>Scraped</dt><dd>{count(scrapes.count)} times</dd>
                    <dt>Last scraped</dt><dd title={moment(scrapes.last)}>{ago(scrapes.last, "not since the start")}</dd>
                </dl>
            </div>
        </Card>
    );
}

function NoExporters() {
    return (
        <Card title="Send to others" tools={<Badge>off</Badge>}>
            <div class="stack">
                <p>Nothing is sent on. The controller can send every counter to Graphite, StatsD or an OpenTelemetry collector by itself. Start it with:</p>
                <Command text="sonde serve --export otlp=http://collector:4318/v1/metrics" />
                <Command text="sonde serve --export graphite=tcp://carbon:2003" />
            </div>
        </Card>
    );
}

export function ExportersTab({ data }: { data: SettingsData }) {
    return (
        <div class={data.exporters.length ? "grid" : "halves"}>
            <ScrapeCard scrapes={data.scrapes} />
            {data.exporters.map((exporter, i) => <One key={`${i} ${exporter.destination}`} exporter={exporter} />)}
            {data.exporters.length === 0 && <NoExporters />}
        </div>
    );
}
