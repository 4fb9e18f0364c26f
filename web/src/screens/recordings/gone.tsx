/* Processes that were here, of which the store knows counters still. */
import { path, type HistorySeries } from "../../api";
import { bytes, moment, percent, span } from "../../format";
import { link, setParams, type Route } from "../../route";
import { useProcesses } from "../../store";
import { Chart } from "../../ui/chart";
import { Badge, Card, Empty } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { useAnswer } from "./answer";
import type { Seen } from "./history_data";

function lifeOf(one: Seen): number {
    return (Date.parse(one.lastUtc) - Date.parse(one.firstUtc)) / 1000;
}

function columnsOf(isHere: (one: Seen) => boolean): Column<Seen>[] {
    return [
        { id: "name", label: "Process", sort: (one) => one.name.toLowerCase(), cell: (one) => (
            <div class="rec-recording-name">
                <a class="rec-strong" href={isHere(one) ? link(["process", one.pid]) : link(["recordings", "history"], { was: one.processId })}>{one.name}</a>
                <div class="facts"><span>pid {one.pid}</span>{one.runtime && <span>.NET {one.runtime}</span>}{one.container && <span>{one.container}</span>}</div>
                <div class="facts mono cut" title={one.commandLine}>{one.commandLine}</div>
            </div>
        ) },
        { id: "state", label: "State", cell: (one) => (isHere(one) ? <Badge mood="good">Here</Badge> : <Badge>Gone</Badge>), sort: (one) => (isHere(one) ? 0 : 1) },
        { id: "first", label: "First seen", isNumber: true, class: "rec-wide", sort: (one) => Date.parse(one.firstUtc), cell: (one) => moment(one.firstUtc) },
        { id: "last", label: "Last seen", isNumber: true, sort: (one) => Date.parse(one.lastUtc), cell: (one) => moment(one.lastUtc) },
        { id: "life", label: "Watched for", isNumber: true, class: "rec-wide", sort: lifeOf, cell: (one) => span(lifeOf(one)) },
    ];
}

function pick(series: HistorySeries[], id: number, counter: string): { times: number[]; values: (number | null)[] } | null {
    const found = series.filter((one) => one.processId === id && one.counter === counter);
    const sums = new Map<number, number>();
    for (const point of found.flatMap((one) => one.points))
        sums.set(Date.parse(point.time) / 1000, (sums.get(Date.parse(point.time) / 1000) ?? 0) + (point.value ?? 0));
    const sorted = [...sums].sort((a, b) => a[0] - b[0]);
    return sorted.length > 1 ? { times: sorted.map(([time]) => time), values: sorted.map(([, value]) => value) } : null;
}

const CHARTS = [
    ["process.cpu.usage", "CPU", percent],
    ["process.memory.usage", "Memory", bytes],
    ["dotnet.gc.heap.total_allocated", "Allocated each second", (value: number) => `${bytes(value)}/s`],
    ["dotnet.exceptions", "Exceptions each second", (value: number) => `${value.toFixed(1)}/s`],
] as const;

/* How it fared while it was here. */
function Life({ one }: { one: Seen }) {
    const step = Math.max(1, Math.ceil(lifeOf(one) / 300));
    const query = new URLSearchParams({ pid: String(one.pid), from: one.firstUtc, to: one.lastUtc, step: String(step), limit: "100000" });
    const { answer, problem } = useAnswer<{ series: HistorySeries[] }>(`${path`history/counters`}?${query.toString()}`);
    const charts = CHARTS.map(([counter, label, format]) => ({ label, format, data: answer ? pick(answer.series, one.processId, counter) : null }));
    const known = charts.filter((chart) => chart.data);
    return (
        <Card title={`${one.name} (${one.pid}), ${moment(one.firstUtc)} to ${moment(one.lastUtc)}`} tools={<button type="button" class="plain" onClick={() => setParams({ was: "" })}>Close</button>}>
            {problem && <p>{problem.message}</p>}
            {answer && known.length === 0 && <p class="quiet">Of its counters nothing is kept any more, or it was here too briefly.</p>}
            <div class="grid">
                {known.map(({ label, format, data }) => (
                    <div key={label}><h3>{label}</h3><Chart label={label} times={data!.times} series={[{ label, values: data!.values }]} format={format} height={120} sync="life" /></div>
                ))}
            </div>
        </Card>
    );
}

export function Gone({ route }: { route: Route }) {
    const { answer } = useAnswer<{ processes: Seen[] }>("history/processes?limit=1000");
    const now = useProcesses() ?? [];
    if (!answer)
        return null;
    const isHere = (one: Seen) => now.some((other) => other.pid === one.pid && other.name === one.name && other.commandLine === one.commandLine);
    const was = answer.processes.find((one) => String(one.processId) === route.params.get("was"));
    return (
        <>
            {was && <Life one={was} />}
            <Card flush title="Processes that were here">
                {answer.processes.length ? <Table rows={answer.processes} columns={columnsOf(isHere)} rowKey={(one) => one.processId} start={{ id: "last", down: true }} caption="Processes that were here" />
                    : <Empty title="None yet">Every .NET process that the controller watches is remembered here, also after its end.</Empty>}
            </Card>
        </>
    );
}
