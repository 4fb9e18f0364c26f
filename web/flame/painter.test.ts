/* Every box that is painted carries the name, colour and extent of its own node, and none crosses its parent's edge: two hundred
 * generated trees and three real traces (tests/golden/flame), each in five windows. What the painter says that it painted is
 * compared with what its pen was told. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gunzipSync } from "node:zlib";
import { ROW } from "./brush";
import { Colours, toHex } from "./colours";
import { Layout } from "./layout";
import { Painter, type PaintedBox, type Style } from "./painter";
import { Calls, Profile, shortName, type ProfileData, type Weights } from "./profile";
import { FrameTable } from "./rows";
import { shorten, visible } from "./text";
import type { Tree } from "./tree";
import { calleeTree, callerTree } from "./unfold";

const WIDTH = 1200;
const PIXEL = 0.5; // what is narrower is widened to this, or shares a box under a pixel
const EPSILON = 1e-6;
const TREES = 200;
const STYLE: Style = { text: "#000001", match: "#000002", matchText: "#000003", root: "#000004", outline: "#000005", hatch: "#000006" };

function random(seed: number): () => number {
    let state = seed >>> 0;
    return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;
}

/* Takes what a canvas takes, and keeps it. Letters are six pixels wide. */
class Pen {
    font = "";
    textBaseline = "";
    direction = "";
    globalAlpha = 1;
    fillStyle = "";
    strokeStyle = "";
    lineWidth = 1;
    readonly boxes: { x: number; y: number; width: number; colour: string }[] = [];
    readonly texts: { text: string; x: number; y: number; room: number }[] = [];
    #open: { x: number; y: number; width: number }[] = [];

    measureText(text: string): { width: number } {
        return { width: 6 * text.length };
    }

    beginPath(): void {
        this.#open = [];
    }

    roundRect(x: number, y: number, width: number, height: number): void {
        assert.equal(height, ROW - 1);
        this.#open.push({ x, y, width });
    }

    fill(): void {
        this.boxes.push(...this.#open.map((box) => ({ ...box, colour: this.fillStyle })));
    }

    fillRect(x: number, y: number, width: number): void {
        this.boxes.push({ x, y, width, colour: this.fillStyle });
    }

    fillText(text: string, x: number, y: number, room: number): void {
        this.texts.push({ text, x, y, room });
    }
}

interface View {
    from: number;
    to: number;
    zoomed: number;
}

interface Shown {
    tree: Tree;
    colourOf: (node: number) => string;
    rootLabel: string;
}

function paint({ tree, colourOf, rootLabel }: Shown, view: View): { pen: Pen; record: PaintedBox[] } {
    const pen = new Pen();
    const painter = new Painter(pen as unknown as CanvasRenderingContext2D);
    painter.labels.use(tree.profile.words);
    painter.labels.setFont("test");
    painter.record = [];
    painter.begin({ tree, look: { colourOf, rootLabel }, style: STYLE, zoomed: view.zoomed, isMatch: null });
    new Layout(tree, { ...view, width: WIDTH }).each(() => true, (level, node, x, width) => painter.box(node, x, level * ROW, width));
    painter.end();
    return { pen, record: painter.record };
}

/* The pen was told what the record says: as many boxes, each of this colour and within these edges, and these texts. */
function checkRecord(pen: Pen, record: PaintedBox[]): void {
    const placeOf = (box: { x: number; y: number; colour: string }) => `${box.colour} ${Math.floor(box.y / ROW)} ${Math.floor(box.x + EPSILON)}`;
    const told = new Map<string, { x: number; width: number }[]>();
    for (const box of pen.boxes)
        told.set(placeOf(box), [...(told.get(placeOf(box)) ?? []), box]);
    assert.equal(pen.boxes.length, record.length);
    for (const box of record) {
        const near = [box.x, box.x + 0.5].flatMap((x) => told.get(placeOf({ ...box, x })) ?? []);
        const isTold = near.some((one) => one.x >= box.x - EPSILON && one.x <= box.x + 0.5 + EPSILON &&
            one.x + one.width <= box.x + box.width + EPSILON && one.width >= box.width - 1 - EPSILON);
        assert.ok(isTold, isTold ? "" : `the pen drew no box ${JSON.stringify(box)}`);
    }
    const labels = record.filter((box) => box.label);
    assert.deepEqual(pen.texts.map(({ text, x, y }) => [text, x, y]), labels.map((box) => [box.label, box.x + 5, box.y + ROW / 2 + 0.5]));
    assert.ok(pen.texts.every(({ room }, i) => room <= labels[i]!.width));
}

function isNameOf({ tree, rootLabel }: Shown, node: number, label: string): boolean {
    const frame = tree.frame[node]!;
    const { words } = tree.profile;
    const names = frame < 0 ? [rootLabel] : [visible(shorten(words.frames.name[frame]!, 240)), visible(shorten(shortName(words, frame), 240))];
    return names.includes(label) || (label.endsWith("…") && names.some((name) => name.startsWith(label.slice(0, -1))));
}

/* The boxes of a level that are above a box: one, and only one. */
function above(rows: PaintedBox[][], box: PaintedBox, parent: number): PaintedBox | undefined {
    const row = rows[box.level - 1] ?? [];
    let [low, high] = [0, row.length - 1];
    while (low < high) { // the last one that begins at the parent or before
        const middle = (low + high + 1) >> 1;
        if (row[middle]!.node <= parent)
            low = middle;
        else
            high = middle - 1;
    }
    return row[low];
}

const hexes = new Map<string, string>();

function hexOf(colour: string): string {
    const hex = hexes.get(colour) ?? toHex(colour);
    hexes.set(colour, hex);
    return hex;
}

/* What is wrong with a box; "": nothing. */
function wrongWith(box: PaintedBox, shown: Shown, view: View, rows: PaintedBox[][]): string {
    const { tree } = shown;
    const { node, level, x, width, colour, label } = box;
    const scale = WIDTH / (view.to - view.from);
    const left = Math.max(0, (tree.start[node]! - view.from) * scale);
    const right = Math.min(WIDTH, (tree.start[node]! + tree.total[node]! - view.from) * scale);
    const slack = WIDTH * EPSILON;
    if (level !== tree.level[node])
        return "another level";
    if (colour !== (node === 0 ? STYLE.root : hexOf(shown.colourOf(node))))
        return "another colour";
    if (label && !isNameOf(shown, node, label))
        return "another name";
    if (width < PIXEL - EPSILON)
        return "too narrow to see";
    const isWide = tree.total[node]! * scale >= PIXEL && right - left >= PIXEL;
    if (isWide && (Math.abs(x - left) > slack || Math.abs(x + width - right) > slack))
        return "not its own extent";
    if (!isWide && (Math.abs(x - left) > PIXEL + slack || width > 1 + slack || label))
        return "more than a mark of a narrow node";
    if (level === 0)
        return "";
    const parent = above(rows, box, tree.parent[node]!)!;
    if (x < parent.x - EPSILON || x + width > parent.x + parent.width + EPSILON)
        return `crosses the edge of ${JSON.stringify(parent)}`;
    return tree.total[parent.node]! * scale >= PIXEL && parent.node !== tree.parent[node] ? "below a box that is not its parent" : "";
}

function checkBoxes(shown: Shown, view: View, record: PaintedBox[]): void {
    const rows: PaintedBox[][] = Array.from({ length: shown.tree.depth }, () => []);
    record.forEach((box) => rows[box.level]!.push(box));
    for (const box of record) {
        const wrong = wrongWith(box, shown, view, rows);
        assert.ok(wrong === "", wrong && `${wrong}: ${JSON.stringify({ ...box, ...view })} of ${shown.tree.count}`);
    }
    checkComplete(shown.tree, view, WIDTH / (view.to - view.from), rows);
}

/* Nothing is missing: whatever is wide enough to see has its box, the rest is within a pixel of one. */
function checkComplete(tree: Tree, view: View, scale: number, rows: PaintedBox[][]): void {
    const rounding = view.to * 2 ** -50;
    for (const [level, row] of rows.entries()) {
        let at = 0;
        for (let n = tree.levels[level]!; n < tree.levels[level + 1]!; n++) {
            const end = tree.start[n]! + tree.total[n]!;
            if (end <= view.from + rounding || tree.start[n]! >= view.to - rounding)
                continue;
            while (at + 1 < row.length && row[at + 1]!.node <= n)
                at++;
            const box = row[at];
            const left = Math.max(0, (tree.start[n]! - view.from) * scale);
            const isWide = tree.total[n]! * scale >= PIXEL;
            if (!box || (isWide ? box.node !== n : box.node > n || left > box.x + box.width + PIXEL))
                assert.fail(`node ${n} of ${tree.count} has no box in ${JSON.stringify(view)}: ${JSON.stringify(box)}`);
        }
    }
}

/* All of it, a wide box, a narrow one, any window, and one of a few nodes. */
function viewsOf(tree: Tree, next: () => number): View[] {
    const whole = tree.total[0]!;
    const of = (node: number): View => ({ from: tree.start[node]!, to: tree.start[node]! + tree.total[node]!, zoomed: node });
    const window = (size: number): View => {
        const from = next() * (whole - size);
        return { from, to: from + size, zoomed: tree.covering(from, from + size) };
    };
    const some = Math.floor(next() * tree.count);
    return [of(0), of(Math.min(1, tree.count - 1)), of(some), window(whole * 0.3), window(Math.min(whole, tree.total[some]! * 3))];
}

function check(shown: Shown, next: () => number, keepsPen: boolean): void {
    for (const view of viewsOf(shown.tree, next)) {
        const { pen, record } = paint(shown, view);
        assert.ok(record.length > 0);
        checkBoxes(shown, view, record);
        if (keepsPen)
            checkRecord(pen, record);
    }
}

function coloured(tree: Tree): Shown {
    const colours = new Colours(tree.profile.words, new Float64Array(tree.profile.frameCount), "module", false);
    return { tree, colourOf: (node) => colours.of(tree.frame[node]!), rootLabel: "Everything  1.23 s" };
}

const FRAMES = 300;
const words = new FrameTable();
for (let f = 0; f < FRAMES; f++)
    words.place([f, `Space${f % 7}.Type${f % 31}.Method${f}${"Long".repeat(f % 5)}`, `Module${f % 13}`, "managed", f % 3 === 0 ? 1 : 0]);

/* What one node spent itself: all the same, or from next to nothing to nearly everything. */
const WIDTHS: ((next: () => number) => number)[] = [() => 1, (next) => 10 ** (12 * next()), (next) => (next() < 0.01 ? 1e9 : 1), (next) => next()];

/* Weights of all nodes of one kind of WIDTHS. */
function summed(calls: Calls, next: () => number, kind: number): Weights {
    const weigh = WIDTHS[kind % WIDTHS.length]!;
    const self = new Float64Array(calls.nodeCount).map((_, n) => (n > 0 ? weigh(next) : 0));
    const total = Float64Array.from(self);
    for (let n = calls.nodeCount - 1; n > 0; n--)
        total[calls.parent[n]!]! += total[n]!;
    return { self, total };
}

function generated(seed: number): { calls: Calls; weights: Weights; next: () => number } {
    const next = random(seed * 7919);
    const count = seed % 67 === 0 ? 100_000 : Math.round(10 ** (1 + 3 * next()));
    const reach = [count, 3, 50, 1000][(seed >> 2) % 4]!; // how far back a parent is: bushy or deep
    const parent = new Int32Array(count);
    const frame = new Int32Array(count).fill(-1);
    for (let n = 1; n < count; n++) {
        parent[n] = Math.max(0, n - 1 - Math.floor(next() * Math.min(n, reach)));
        frame[n] = Math.floor(next() * FRAMES);
    }
    const calls = new Calls(words, parent, frame);
    return { calls, weights: summed(calls, next, seed), next };
}

test("the last, tiny child of a box does not lend its name to the heaviest of the next", () => {
    const [self, parent] = [[0, 0, 0, 49.99, 0.01, 50], [0, 0, 0, 1, 1, 2]];
    const calls = new Calls(words, Int32Array.from(parent), Int32Array.from([-1, 0, 1, 2, 3, 4]));
    const tree = calleeTree(calls, { self: Float64Array.from(self), total: Float64Array.from([100, 50, 50, 49.99, 0.01, 50]) });
    const { record } = paint(coloured(tree), { from: 0, to: 100, zoomed: 0 });
    const wide = record.filter((box) => box.level === 2 && box.label);
    assert.deepEqual(wide.map((box) => [tree.frame[box.node], box.label]), [[2, "Space2.Type2.Method2LongLong"], [4, "Space4.Type4.Method4LongLongLongLong"]]);
});

test("two hundred trees: every box is its node's", () => {
    for (let seed = 1; seed <= TREES; seed++) {
        const { calls, weights, next } = generated(seed);
        const grow = seed % 5 === 0 && calls.nodeCount <= 3000 ? callerTree : calleeTree;
        const tree = grow(calls, weights);
        const isMoving = seed % 3 === 0; // a later state that keeps the order of before: heavy boxes stand behind tiny ones
        check(coloured(isMoving ? grow(calls, summed(calls, next, seed + 1), { old: tree, keepsOrder: true }) : tree), next, calls.nodeCount <= 500);
    }
});

test("real traces: every box is its node's", () => {
    for (const runtime of [8, 9, 10]) {
        const file = `${process.env.SONDE_ROOT}/tests/golden/flame/${runtime}-shop.json.gz`;
        const { profiles } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as { profiles: ProfileData[] };
        const profile = new Profile(profiles[0]!);
        assert.ok(profile.nodeCount > 400);
        for (const column of profile.views.keys()) {
            for (const grow of [calleeTree, callerTree])
                check(coloured(grow(profile, profile.weigh(column, -1))), random(column + 1), true);
        }
    }
});
