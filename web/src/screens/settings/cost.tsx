/* What the controller itself costs. */
import type { ComponentChildren } from "preact";
import { bytes, count, inUnit, percent, seconds, span } from "../../format";
import { Chart } from "../../ui/chart";
import { Card } from "../../ui/parts";
import type { Cost } from "./shapes";

function Tile({ title, value, hint, children }: { title: string; value: string; hint: string; children: ComponentChildren }) {
    return (
        <section class="card tile">
            <h2>{title}</h2>
            <p class="big">{value}</p>
            <p class="quiet">{hint}</p>
            {children}
        </section>
    );
}

function Course({ cost, values, label, format, colour, least }: {
    cost: Cost;
    values: number[];
    label: string;
    format: (value: number) => string;
    colour: string;
    least: number;
}) {
    const end = Date.parse(cost.history.end) / 1000;
    const times = values.map((_, i) => end - (values.length - 1 - i) * cost.history.stepSeconds);
    if (values.length < 2)
        return <p class="quiet">The chart begins ten seconds after the start.</p>;
    return <Chart label={label} times={times} series={[{ label, values, colour }]} format={format} height={120} least={least} sync="cost" version={end} />;
}

export function CostTab({ cost }: { cost: Cost }) {
    const { history } = cost;
    const rate = (value: number) => inUnit(value, "", true);
    return (
        <>
            <div class="grid">
                <Tile title="Processor" value={percent(cost.cpuShare)} hint={`of one CPU, over the last minute; the machine has ${cost.cpus}`}>
                    <Course cost={cost} values={history.cpuShare} label="CPU" format={percent} colour="--c1" least={0.05} />
                </Tile>
                <Tile title="Memory" value={bytes(cost.rssBytes)} hint="resident">
                    <Course cost={cost} values={history.rssBytes} label="Memory" format={bytes} colour="--c4" least={1e6} />
                </Tile>
                <Tile title="Events" value={rate(cost.eventsPerSecond)} hint={`from ${cost.watchedProcesses} watched ${cost.watchedProcesses === 1 ? "process" : "processes"}`}>
                    <Course cost={cost} values={history.eventsPerSecond} label="Events" format={rate} colour="--c3" least={10} />
                </Tile>
            </div>
            <Card title="In numbers">
                <dl class="pairs">
                    <dt>Running for</dt><dd>{span(cost.upSeconds)}</dd>
                    <dt>CPU time</dt><dd>{seconds(cost.cpuSeconds)} since the start</dd>
                    <dt>Threads</dt><dd>{cost.threads}</dd>
                    <dt>Requests answered</dt><dd>{count(cost.requests)}</dd>
                    <dt>Open connections</dt><dd>{cost.connections}</dd>
                    <dt>Open streams</dt><dd>{cost.streams}</dd>
                    <dt>Missed messages</dt><dd>{count(cost.lostMessages)} that readers took too late, or that were too large</dd>
                </dl>
            </Card>
        </>
    );
}
