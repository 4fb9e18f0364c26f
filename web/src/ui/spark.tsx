/* A small line without axes: how something went in the last minutes. */
import { useEffect, useRef } from "preact/hooks";
import { token } from "./theme";

export interface SparkProps {
    values: readonly number[];
    times?: readonly number[]; // seconds since 1970; with `span`, the right edge is the latest
    span?: number; // seconds shown
    gap?: number; // seconds without a value that are drawn as such
    colour?: string; // a token: "--c1"
    least?: number; // the top is at least this
    label: string; // "CPU, now 0.4 CPU"
    version?: unknown; // arrays grow in place: what tells that they did
}

/* Nothing was known for a while before this one. */
function isGap(times: readonly number[] | undefined, i: number, gap: number): boolean {
    return times !== undefined && i > 0 && times[i]! - times[i - 1]! > gap;
}

function draw(canvas: HTMLCanvasElement, { values, times, span = 120, gap = Infinity, colour = "--c1", least = 0 }: SparkProps): void {
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    if (!pen || width === 0 || values.length === 0)
        return;
    pen.scale(ratio, ratio);
    const last = times?.[times.length - 1] ?? values.length - 1;
    const x = (i: number) => width - ((last - (times?.[i] ?? i)) / span) * width;
    const from = Math.max(0, values.findIndex((_, i) => x(i) >= -8));
    let top = least;
    for (let i = from; i < values.length; i++)
        top = Math.max(top, values[i]!);
    const y = (value: number) => height - 1.5 - (top > 0 ? (value / top) * (height - 3) : 0);
    const line = new Path2D();
    const area = new Path2D();
    for (let i = from; i < values.length; i++) {
        const isFirst = i === from || isGap(times, i, gap);
        if (isFirst) {
            line.moveTo(x(i), y(values[i]!));
            area.moveTo(x(i), height);
        }
        line.lineTo(x(i), y(values[i]!));
        area.lineTo(x(i), y(values[i]!));
        if (i + 1 === values.length || isGap(times, i + 1, gap))
            area.lineTo(x(i), height);
    }
    pen.fillStyle = token(colour);
    pen.globalAlpha = 0.14;
    pen.fill(area);
    pen.globalAlpha = 1;
    pen.strokeStyle = token(colour);
    pen.lineWidth = 1.5;
    pen.lineJoin = "round";
    pen.lineCap = "round";
    pen.stroke(line);
}

export function Spark(props: SparkProps) {
    const canvas = useRef<HTMLCanvasElement>(null);
    useEffect(() => {
        if (canvas.current)
            draw(canvas.current, props);
    });
    return <canvas ref={canvas} class="spark" role="img" aria-label={props.label} />;
}
