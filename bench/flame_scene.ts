/* What bench/flame.mjs measures, inside of the browser: a synthetic profile of many nodes, drawn by the page's own code. */
import { FlameCanvas } from "../web/flame/canvas";
import { Colours } from "../web/flame/colours";
import { Gestures } from "../web/flame/gestures";
import { FrameTable, Rows } from "../web/flame/rows";
import { calleeTree, callerTree } from "../web/flame/unfold";
import { synthesize } from "./flame_tree";

const frame = () => new Promise<number>((done) => requestAnimationFrame(done));

function spread(values: number[]): { median: number; p95: number; most: number } {
    const sorted = [...values].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    return { median: at(0.5), p95: at(0.95), most: sorted.at(-1) ?? 0 };
}

class Scene {
    readonly canvas: FlameCanvas;
    readonly gestures: Gestures;

    constructor() {
        const scroller = document.createElement("div");
        scroller.style.cssText = "position:relative;height:600px;overflow:hidden auto;font-family:sans-serif;--flame-text:#111;--flame-root:#ddd;--flame-match:#c0c;--flame-match-text:#fff;--flame-outline:#000";
        const spacer = document.createElement("div");
        const drawing = document.createElement("canvas");
        drawing.style.cssText = "position:sticky;top:0;display:block";
        spacer.append(drawing);
        scroller.append(spacer);
        document.body.append(scroller);
        this.canvas = new FlameCanvas(scroller, spacer, drawing);
        this.canvas.overlay.style.cssText = "position:sticky;top:0;display:block;pointer-events:none";
        this.gestures = new Gestures(this.canvas, { hover: () => {}, select: () => {}, zoom: () => {}, back: () => {}, search: () => {} });
    }

    /* Time of script a frame, and from frame to frame, while `step` is done before each. */
    async measure(steps: number, step: (i: number) => void): Promise<{ script: ReturnType<typeof spread>; frames: ReturnType<typeof spread> }> {
        const script: number[] = [];
        const frames: number[] = [];
        let last = await frame();
        for (let i = 0; i < steps; i++) {
            const begin = performance.now();
            step(i);
            script.push(performance.now() - begin);
            const now = await frame();
            frames.push(now - last);
            last = now;
        }
        return { script: spread(script), frames: spread(frames) };
    }
}

let scene: Scene | null = null;

/* Reads and shows a profile: how long each part of that takes. */
export function prepare(count: number): Record<string, number> {
    const made = synthesize(count);
    const text = JSON.stringify({ version: 1, since: 0, view: "cpu", unit: "nanoseconds", total: 0, durationSeconds: 10, lost: 0, complete: true, ...made });
    const timed = <T>(work: () => T): [T, number] => {
        const begin = performance.now();
        const result = work();
        return [result, performance.now() - begin];
    };
    const [answer, parse] = timed(() => JSON.parse(text));
    const rows = new Rows(new FrameTable());
    const [, take] = timed(() => rows.take(answer));
    const [tree, unfold] = timed(() => calleeTree(rows.calls(), rows.weights()));
    const [, invert] = timed(() => callerTree(rows.calls(), rows.weights()));
    const shown = (scene ??= new Scene());
    const colours = new Colours(rows.table, rows.calls().sumByFrame(rows.weights()).total, "module", false);
    const [, show] = timed(() => shown.canvas.show(tree, { colourOf: (node) => colours.of(tree.frame[node]!), rootLabel: "all" }));
    const [, search] = timed(() => tree.matchedTotal((f) => f % 100 === 0));
    return { parse, take, unfold, invert, show, search, boxes: shown.canvas.drawn };
}

/* From the whole to a 3000th of it and back: `steps` drawings. */
export function zoom(steps: number): Promise<unknown> {
    const { canvas } = scene!;
    const whole = canvas.tree!.total[0]!;
    return scene!.measure(steps, (i) => {
        const size = whole * Math.exp(-8 * Math.abs(Math.sin(i / 40)));
        canvas.from = (whole - size) * 0.3;
        canvas.to = canvas.from + size;
        canvas.draw();
    });
}

export function hover(steps: number): Promise<unknown> {
    const { canvas, gestures } = scene!;
    const box = canvas.canvas.getBoundingClientRect();
    return scene!.measure(steps, (i) => {
        const [x, y] = [box.left + ((i * 37) % box.width), box.top + ((i * 13) % 500)];
        gestures.hoverAt(canvas.nodeAt(x, y), x, y);
    });
}

Object.assign(globalThis, { flameBench: { prepare, zoom, hover } });
