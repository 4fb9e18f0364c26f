/* A chart over time: uPlot with our colours, units and legend. Hover and arrow keys show values, dragging zooms, a double
 * click goes back. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clean, clock } from "../format";
import { useCell } from "../store";
import { theme, token } from "./theme";

export interface ChartSeries {
    label: string;
    values: (number | null)[];
    low?: (number | null)[]; // a band, of which `values` are the upper end
    colour?: string; // a token
}

export interface ChartProps {
    times: number[]; // seconds since 1970, of all series
    series: ChartSeries[];
    format: (value: number) => string;
    ticks?: (value: number) => string; // shorter, beside the axis
    height?: number;
    label: string;
    least?: number; // the top is at least this
    sync?: string; // charts of one name share their cursor
    version?: unknown; // arrays grow in place: what tells that they did
    onZoom?: (from: number, to: number) => void;
}

export const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

/* Colour is not the only sign: the second line on is broken, each in its own way. */
const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4], [2, 6], [7, 3, 2, 3, 2, 3]];

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

function axes(format: (value: number) => string): uPlot.Axis[] {
    const common: uPlot.Axis = {
        stroke: token("--ink-3"),
        font: `11px ${token("--font")}`,
        grid: { stroke: token("--line"), width: 1 },
        ticks: { show: false },
    };
    return [
        { ...common, grid: { show: false }, space: 60, size: 24, incrs: TIME_STEPS, values: (_, splits, _axis, _space, step) => splits.map((at) => timeLabel(at, step)) },
        { ...common, size: 64, space: 28, values: (_, splits) => splits.map(format) },
    ];
}

const colourOf = (one: ChartSeries, i: number): string => token(one.colour ?? COLOURS[i % COLOURS.length]!);

/* Every series is its line, then the lower ends of bands. */
function columnsOf({ times, series }: ChartProps): uPlot.AlignedData {
    return [times, ...series.map((one) => one.values), ...series.flatMap((one) => (one.low ? [one.low] : []))] as uPlot.AlignedData;
}

function bandsOf(series: ChartSeries[]): uPlot.Band[] {
    let low = series.length;
    return series.flatMap((one, i) => (one.low ? [{ series: [i + 1, ++low] as [number, number], fill: `color-mix(in srgb, ${colourOf(one, i)} 18%, transparent)` }] : []));
}

/* A value between two gaps is no line: it is drawn as a point. */
function alone(plot: uPlot, index: number): number[] {
    const values = plot.data[index]!;
    const found: number[] = [];
    for (let i = 0; i < values.length; i++) {
        if (values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null)
            found.push(i);
    }
    return found;
}

function lineOf(one: ChartSeries, i: number, isLow: boolean): uPlot.Series {
    return {
        label: one.label,
        stroke: colourOf(one, i),
        width: one.low ? 1 : 1.5,
        dash: isLow ? [] : [...DASHES[i % DASHES.length]!],
        points: { show: true, size: 4, fill: colourOf(one, i), filter: alone },
        spanGaps: false,
    };
}

/* As short as the distance of labels allows; always one line. */
function timeLabel(at: number, step: number): string {
    const date = new Date(at * 1000);
    if (step >= 86400)
        return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
    return step < 60 ? clock(date) : clock(date).slice(0, 5);
}

function makeOptions(props: ChartProps, width: number, onCursor: (index: number | null) => void): uPlot.Options {
    const { series, format, ticks = format, height = 160, least = 0, sync } = props;
    return {
        width,
        height,
        legend: { show: false },
        padding: [8, 8, 0, 0],
        cursor: {
            points: { size: 6 },
            drag: { x: true, y: false },
            ...(sync ? { sync: { key: sync } } : {}),
        },
        scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(least, high ?? 0, 1e-9) * 1.08] } },
        axes: axes(ticks),
        hooks: {
            setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
            setSelect: [(plot) => {
                if (plot.select.width > 4)
                    props.onZoom?.(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
            }],
        },
        series: [
            {},
            ...series.map((one, i) => ({
                ...lineOf(one, i, false),
                ...(series.length === 1 && !one.low ? { fill: `color-mix(in srgb, ${token(one.colour ?? "--c1")} 12%, transparent)` } : {}),
            })),
            ...series.flatMap((one, i) => (one.low ? [lineOf(one, i, true)] : [])),
        ],
        bands: bandsOf(series),
    };
}

export function Chart(props: ChartProps) {
    const place = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | null>(null);
    const isZoomed = useRef(false);
    const [at, setAt] = useState<number | null>(null);
    const [isByKeys, setByKeys] = useState(false);
    const mode = useCell(theme);
    const shape = `${mode}|${props.series.map((one) => `${one.label}${one.low ? " band" : ""}`).join("|")}|${props.height ?? 0}|${props.sync ?? ""}`;
    const data = () => columnsOf(props);
    useEffect(() => {
        const element = place.current!;
        const made = new uPlot(makeOptions(props, element.clientWidth || 320, setAt), data(), element);
        plot.current = made;
        Object.assign(element, { drawn: made }); // what is drawn can be read
        isZoomed.current = false;
        made.hooks.setSelect?.push(() => (isZoomed.current ||= made.select.width > 4));
        made.over.addEventListener("dblclick", () => (isZoomed.current = false));
        const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: props.height ?? 160 }));
        observer.observe(element);
        return () => {
            observer.disconnect();
            made.destroy();
            plot.current = null;
        };
    }, [shape]);
    useEffect(() => {
        const isOwn = !props.onZoom && isZoomed.current; // who is told of zooms passes what is to be seen
        plot.current?.setData(data(), !isOwn);
    }, [shape, props.times, props.times.length, props.version, ...props.series.map((one) => one.values), ...props.series.map((one) => one.low)]);
    const press = (event: KeyboardEvent) => {
        if (!plot.current || !moveCursor(plot.current, event.key))
            return;
        event.preventDefault();
        setByKeys(true);
    };
    return (
        <figure class="chart" aria-label={props.label}>
            <div class="plot" ref={place} tabIndex={0} role="img" aria-label={`${props.label}: arrow keys read its values`} onKeyDown={press}
                onBlur={() => { setByKeys(false); plot.current?.setCursor({ left: -10, top: -10 }); }} />
            <Legend {...props} at={at} isSpoken={isByKeys} />
        </figure>
    );
}

/* The next point of those in sight; whether the key is one of ours. */
function moveCursor(plot: uPlot, key: string): boolean {
    const [first, last] = plot.series[0]!.idxs ?? [0, plot.data[0].length - 1];
    const now = plot.cursor.idx ?? last;
    const to: Record<string, number> = { ArrowLeft: now - 1, ArrowRight: now + 1, PageUp: now - 10, PageDown: now + 10, Home: first, End: last };
    const next = to[key];
    if (next === undefined || last < first)
        return false;
    const time = plot.data[0][Math.min(last, Math.max(first, next))]!;
    plot.setCursor({ left: plot.valToPos(time, "x"), top: plot.over.clientHeight / 2 });
    return true;
}

function swatch(colour: string, dash: readonly number[]): string {
    return dash.length ? `repeating-linear-gradient(90deg, ${colour} 0 ${Math.min(4, dash[0]!)}px, transparent 0 ${Math.min(4, dash[0]!) + 2}px)` : colour;
}

function Legend({ series, times, format, at, isSpoken }: ChartProps & { at: number | null; isSpoken: boolean }) {
    const last = times.length - 1;
    const index = at !== null && at <= last ? at : last;
    const show = (value: number | null | undefined) => (value === null || value === undefined ? "–" : format(value));
    const showBand = (low: number | null | undefined, high: number | null | undefined) =>
        (low === null || low === undefined || low === high ? show(high) : `${show(low)} to ${show(high)}`);
    return (
        <figcaption class="legend" aria-live={isSpoken ? "polite" : "off"}>
            {series.map((one, i) => (
                <span key={one.label} title={clean(one.label)}>
                    <i ref={(element) => { if (element) element.style.background = swatch(token(one.colour ?? COLOURS[i % COLOURS.length]!), DASHES[i % DASHES.length]!); }} />
                    {clean(one.label)} <b>{showBand(one.low?.[index], one.values[index])}</b>
                </span>
            ))}
            {times[index] !== undefined && <span class="quiet">{clock(new Date(times[index]! * 1000))}</span>}
        </figcaption>
    );
}
