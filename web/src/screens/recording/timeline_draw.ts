/* Draws the lanes of a time line on a canvas. */
import { token } from "../../ui/theme";
import { REQUEST_ROW, type FullTimeline, type Lane, type PackedRequest, type Window } from "./lanes";

export interface Scene {
    data: FullTimeline;
    lanes: Lane[];
    packed: PackedRequest[];
    view: Window; // what is seen; `data` may be of another span while the next is under way
    width: number;
    height: number;
}

const GENERATION = ["--c3", "--c5", "--c2"];

function steps(span: number, width: number): number {
    const wanted = span / Math.max(2, width / 90);
    const power = 10 ** Math.floor(Math.log10(wanted));
    return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= wanted) ?? power * 10;
}

/* "12 s", "0.25 s", "3:20": as fine as the step needs. */
export function timeLabel(at: number, step: number): string {
    if (step >= 1 && at >= 120) {
        const whole = Math.round(at);
        return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
    }
    const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
    return `${at.toFixed(places)} s`;
}

function drawAxis(pen: CanvasRenderingContext2D, scene: Scene, x: (at: number) => number): void {
    const { view, width, height } = scene;
    const step = steps(view.to - view.from, width);
    pen.font = `11px ${token("--font")}`;
    pen.textBaseline = "middle";
    for (let at = Math.ceil(view.from / step) * step; at <= view.to + step / 1000; at += step) {
        const left = Math.round(x(at)) + 0.5;
        pen.fillStyle = token("--line");
        pen.fillRect(left - 0.5, 20, 1, height);
        pen.fillStyle = token("--ink-3");
        const text = timeLabel(at, step);
        const size = pen.measureText(text).width;
        pen.fillText(text, Math.min(Math.max(0, left - size / 2), width - size), 10);
    }
}

function drawCpu(pen: CanvasRenderingContext2D, { data }: Scene, lane: Lane, x: (at: number) => number): void {
    const top = Math.max(0.25, ...data.cpu);
    const span = (data.to - data.from) / data.buckets;
    const base = lane.top + lane.height - 4;
    const y = (value: number) => base - (value / top) * (lane.height - 10);
    const path = new Path2D();
    path.moveTo(x(data.from), base);
    data.cpu.forEach((value, i) => {
        path.lineTo(x(data.from + i * span), y(value));
        path.lineTo(x(data.from + (i + 1) * span), y(value));
    });
    path.lineTo(x(data.to), base);
    pen.fillStyle = token("--c1");
    pen.globalAlpha = 0.35;
    pen.fill(path);
    pen.globalAlpha = 1;
    pen.strokeStyle = token("--c1");
    pen.lineWidth = 1;
    pen.stroke(path);
}

function drawCollections(pen: CanvasRenderingContext2D, { data }: Scene, lane: Lane, x: (at: number) => number): void {
    for (const one of data.gc) {
        pen.fillStyle = token(GENERATION[Math.min(2, one.generation)] ?? "--c3");
        const left = x(one.start);
        pen.fillRect(left, lane.top + 5, Math.max(2, x(one.end) - left), lane.height - 10);
    }
}

function drawRequests(pen: CanvasRenderingContext2D, { packed, view }: Scene, lane: Lane, x: (at: number) => number): void {
    for (const { request, row } of packed) {
        if (request.end < view.from || request.start > view.to)
            continue;
        const failed = request.failed ?? (request.status ?? 0) >= 500;
        pen.fillStyle = token(failed ? "--bad" : request.direction === "sent" ? "--c4" : "--c6");
        const left = x(request.start);
        pen.fillRect(left, lane.top + 5 + row * REQUEST_ROW, Math.max(1.5, x(request.end) - left - 0.5), REQUEST_ROW - 2);
    }
}

function drawExceptions(pen: CanvasRenderingContext2D, { data }: Scene, lane: Lane, x: (at: number) => number): void {
    const top = Math.max(1, ...data.exceptions);
    const span = (data.to - data.from) / data.buckets;
    pen.fillStyle = token("--bad");
    data.exceptions.forEach((value, i) => {
        if (!value)
            return;
        const height = Math.max(3, (value / top) * (lane.height - 8));
        const left = x(data.from + i * span);
        pen.fillRect(left, lane.top + lane.height - 4 - height, Math.max(2, x(data.from + (i + 1) * span) - left), height);
    });
}

function drawThread(pen: CanvasRenderingContext2D, { data, width }: Scene, lane: Lane, x: (at: number) => number): void {
    const running = lane.thread?.running ?? [];
    const span = (data.to - data.from) / data.buckets;
    pen.fillStyle = token("--sunken");
    pen.fillRect(0, lane.top + 2, width, lane.height - 4);
    pen.fillStyle = token(lane.colour ?? "--c1");
    running.forEach((share, i) => {
        if (share <= 0)
            return;
        const part = Math.min(1, share);
        const height = Math.max(2, part * (lane.height - 4)); // both say it: how high, how strong
        pen.globalAlpha = 0.5 + 0.5 * part;
        const left = x(data.from + i * span);
        pen.fillRect(left, lane.top + lane.height - 2 - height, Math.max(1, x(data.from + (i + 1) * span) - left + 0.3), height);
    });
    pen.globalAlpha = 1;
}

const DRAW: Partial<Record<Lane["kind"], typeof drawCpu>> = {
    cpu: drawCpu,
    gc: drawCollections,
    requests: drawRequests,
    exceptions: drawExceptions,
    thread: drawThread,
};

export function drawTimeline(canvas: HTMLCanvasElement, scene: Scene): void {
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(scene.width * ratio);
    canvas.height = Math.round(scene.height * ratio);
    const pen = canvas.getContext("2d");
    if (!pen || scene.width === 0)
        return;
    pen.scale(ratio, ratio);
    const x = (at: number) => ((at - scene.view.from) / (scene.view.to - scene.view.from)) * scene.width;
    drawAxis(pen, scene, x);
    for (const lane of scene.lanes)
        DRAW[lane.kind]?.(pen, scene, lane, x);
}
