/* Draws a tree into a canvas: what is in sight, nothing else. Knows where a pointer is, and moves smoothly between zooms and between
 * two states of a tree that grows. Outlines have a canvas of their own, so that pointing at boxes redraws none. Who calls whom is
 * tree.ts, where boxes are layout.ts, how they look painter.ts, gestures are gestures.ts. */
import { RADIUS, ROW } from "./brush";
import { Layout, NARROWEST } from "./layout";
import { Painter, type Look, type Style } from "./painter";
import type { Tree } from "./tree";

export { ROW } from "./brush";
export type { Look } from "./painter";
const ZOOM_MS = 240;
const MOVE_MS = 500;

const prefersStill = matchMedia("(prefers-reduced-motion: reduce)");

/* A box on its way from one state of a tree to the next, in pixels. */
interface Mover {
    node: number;
    level: number;
    from: [x: number, width: number];
    to: [x: number, width: number];
}

export type Direction = "icicle" | "flame";

export class FlameCanvas {
    readonly context: CanvasRenderingContext2D;
    readonly overlay: HTMLCanvasElement;
    tree: Tree | null = null;
    look: Look = { colourOf: () => "", rootLabel: "" };
    zoomed = 0;
    from = 0;
    to = 0;
    selected = -1;
    hovered = -1;
    isMatch: ((frame: number) => boolean) | null = null;
    direction: Direction = "icicle";
    width = 0;
    height = 0;
    readonly painter: Painter;
    readonly #pen: CanvasRenderingContext2D;
    readonly #observer: ResizeObserver;
    #style: Style | null = null;
    #isPending = false;
    #animation = 0;
    #isAnimating = false;
    #levelsShown = 0;
    #movers: Mover[] | null = null;
    #moved = 1;

    /* `guard` runs what nobody calls: it may catch what that throws. */
    constructor(readonly scroller: HTMLElement, readonly spacer: HTMLElement, readonly canvas: HTMLCanvasElement, readonly guard = (work: () => void) => work()) {
        this.context = canvas.getContext("2d", { alpha: true })!;
        this.overlay = document.createElement("canvas");
        this.overlay.className = "flame-overlay";
        this.overlay.setAttribute("aria-hidden", "true");
        canvas.after(this.overlay);
        this.#pen = this.overlay.getContext("2d")!;
        this.painter = new Painter(this.context);
        scroller.addEventListener("scroll", () => this.requestDraw(), { passive: true });
        this.#observer = new ResizeObserver(() => this.guard(() => this.resize()));
        this.#observer.observe(scroller);
    }

    destroy(): void {
        this.#observer.disconnect();
        cancelAnimationFrame(this.#animation);
        this.tree = null;
    }

    /* What a node is coloured with, for who looks from outside. */
    get colourOf(): (node: number) => string {
        return this.look.colourOf;
    }

    /* Another tree, all of it. */
    show(tree: Tree, look: Look): void {
        this.#halt();
        this.tree = tree;
        this.look = look;
        this.painter.labels.use(tree.profile.words);
        this.selected = this.hovered = -1;
        this.zoomed = 0;
        this.from = 0;
        this.to = tree.total[0]!;
        this.#levelsShown = 0;
        this.width = this.scroller.clientWidth;
        this.#setDepth(tree.depth);
        this.#makeRoom(this.from, this.to);
        this.resize();
        if (this.direction === "flame")
            this.scroller.scrollTop = this.scroller.scrollHeight;
    }

    /* The same tree a little later: boxes slide from where they were. `tree.old` says which is which. */
    update(tree: Tree, look: Look): void {
        const before = this.tree;
        if (!before || tree.old.length === 0 || prefersStill.matches || document.hidden) {
            this.#replace(tree, look);
            this.draw();
            return;
        }
        const scale = this.width / (this.to - this.from || 1);
        const placeOf = (node: number): [number, number] => [(before.start[node]! - this.from) * scale, before.total[node]! * scale];
        this.#replace(tree, look);
        const movers: Mover[] = [];
        this.#eachBox((level, node, x, width) => {
            const old = tree.old[node]!;
            movers.push({ node, level, from: old >= 0 ? placeOf(old) : [x, 0], to: [x, width] });
        });
        this.#movers = movers;
        this.#animate(MOVE_MS, (share) => { this.#moved = share; }, () => { this.#movers = null; });
    }

    /* Puts a tree in the place of the one before; what is zoomed into, selected and pointed at stays. */
    #replace(tree: Tree, look: Look): void {
        const before = this.tree!;
        const again = (node: number) => (node <= 0 ? node : tree.find(before.framesTo(node)));
        const zoomed = again(this.zoomed);
        const found = again(this.selected); // or only a part of the way to it
        const selected = found >= 0 && tree.level[found] === before.level[this.selected] ? found : -1;
        const [start, size] = [before.start[this.zoomed]!, before.total[this.zoomed]!];
        const relative = (value: number) => tree.start[zoomed]! + (size > 0 ? ((value - start) / size) * tree.total[zoomed]! : 0);
        const [from, to] = [relative(this.from), relative(this.to)];
        this.#halt();
        this.tree = tree;
        this.look = look;
        this.zoomed = zoomed;
        this.selected = selected;
        this.hovered = -1;
        this.from = from;
        this.to = to > from ? to : tree.total[0]!;
        this.#setDepth(tree.depth);
        this.#makeRoom(this.from, this.to);
    }

    /* Other colours, signs or words for the same tree. */
    restyle(look: Look = this.look): void {
        this.look = look;
        this.#style = null;
        this.requestDraw();
    }

    setDirection(direction: Direction): void {
        if (direction === this.direction)
            return;
        this.direction = direction;
        this.scroller.scrollTop = direction === "flame" ? this.scroller.scrollHeight : 0;
        this.requestDraw();
    }

    /* In a flame the root is at the bottom: it stays there when the tree grows. */
    #setDepth(depth: number): void {
        const before = this.spacer.clientHeight;
        this.spacer.style.height = `${depth * ROW + 2}px`;
        if (this.direction === "flame")
            this.scroller.scrollTop += depth * ROW + 2 - before;
    }

    /* As high as what can be seen in a window, and never less than before: nothing jumps while one zooms. */
    #makeRoom(from: number, to: number): void {
        const tree = this.tree!;
        let levels = 1;
        while (levels < tree.depth && this.#hasWide(levels, from, to))
            levels++;
        this.#levelsShown = Math.max(this.#levelsShown, levels);
        this.scroller.style.height = `${Math.min(tree.depth, this.#levelsShown + 1) * ROW + 2}px`;
    }

    #hasWide(level: number, from: number, to: number): boolean {
        const tree = this.tree!;
        const least = (NARROWEST * (to - from)) / (this.width || 1);
        const end = tree.levels[level + 1]!;
        for (let n = tree.findInLevel(level, from); n < end && tree.start[n]! < to; n++) {
            if (tree.total[n]! >= least && tree.start[n]! + tree.total[n]! > from)
                return true;
        }
        return false;
    }

    resize(): void {
        const ratio = devicePixelRatio || 1;
        const hadWidth = this.width;
        this.width = this.scroller.clientWidth;
        if (this.tree && this.width !== hadWidth)
            this.#makeRoom(this.from, this.to); // it was hidden, or is wider now
        this.height = this.scroller.clientHeight;
        for (const [canvas, pen] of [[this.canvas, this.context], [this.overlay, this.#pen]] as const) {
            canvas.style.width = `${this.width}px`;
            canvas.style.height = `${this.height}px`;
            canvas.width = Math.max(1, Math.round(this.width * ratio));
            canvas.height = Math.max(1, Math.round(this.height * ratio));
            pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        }
        this.overlay.style.marginTop = `-${this.height}px`;
        this.draw();
    }

    zoomTo(node: number): void {
        const { start, total } = this.tree!;
        this.zoomed = node;
        this.#glide(start[node]!, start[node]! + total[node]!);
        this.reveal(node, true);
    }

    /* Any window: by wheel and by dragging. */
    showWindow(from: number, to: number, isSmooth = false): void {
        const tree = this.tree!;
        const whole = tree.total[0]!;
        const size = Math.min(whole, Math.max(to - from, whole * 1e-9));
        const left = Math.max(0, Math.min(whole - size, from));
        this.zoomed = tree.covering(left, left + size);
        if (isSmooth) {
            this.#glide(left, left + size);
            return;
        }
        this.#halt();
        this.from = left;
        this.to = left + size;
        this.#makeRoom(left, left + size);
        this.requestDraw();
    }

    #glide(from: number, to: number): void {
        const begin = { from: this.from, to: this.to };
        this.#halt();
        this.#makeRoom(from, to);
        this.#animate(ZOOM_MS, (share) => {
            this.from = share === 1 ? from : begin.from + (from - begin.from) * share;
            this.to = share === 1 ? to : begin.to + (to - begin.to) * share;
        });
    }

    #halt(): void {
        cancelAnimationFrame(this.#animation);
        this.#isAnimating = false;
        this.#movers = null;
    }

    /* `step` gets 0 to 1, slower towards the end. */
    #animate(duration: number, step: (share: number) => void, done?: () => void): void {
        const begin = performance.now();
        const tick = (now: number) => {
            const elapsed = prefersStill.matches ? 1 : Math.max(0, Math.min(1, (now - begin) / duration));
            step(elapsed === 1 ? 1 : 1 - (1 - elapsed) ** 3);
            this.#isAnimating = elapsed < 1;
            if (!this.#isAnimating)
                done?.();
            this.draw();
            if (elapsed < 1)
                this.#animation = requestAnimationFrame((then) => this.guard(() => tick(then)));
        };
        tick(begin);
    }

    /* Between two zooms, or two states of a tree. */
    get isMoving(): boolean {
        return this.#isAnimating;
    }

    /* Scrolls so that a node is in sight; with `below`, some of what is below it as well. */
    reveal(node: number, below = false): void {
        const tree = this.tree!;
        const top = this.#topOf(tree.level[node]!);
        const fits = tree.depth * ROW <= this.height;
        const least = below ? this.height * 0.5 : ROW * 2;
        const isFlame = this.direction === "flame";
        const isOut = isFlame ? top > this.height - ROW || top < least - ROW : top < 0 || top > this.height - least;
        if (!fits && isOut) {
            const target = this.scroller.scrollTop + top + (isFlame ? ROW * 4 - this.height : -ROW * 3);
            this.scroller.scrollTo({ top: Math.max(0, target), behavior: prefersStill.matches ? "auto" : "smooth" });
        }
    }

    /* Pixels from the top of the canvas. */
    #topOf(level: number): number {
        const row = this.direction === "flame" ? this.tree!.depth - 1 - level : level;
        return row * ROW - this.scroller.scrollTop;
    }

    nodeAt(clientX: number, clientY: number): number {
        const box = this.canvas.getBoundingClientRect();
        if (!this.tree || clientX < box.left || clientX >= box.right)
            return -1;
        const row = Math.floor((clientY - box.top + this.scroller.scrollTop) / ROW);
        const level = this.direction === "flame" ? this.tree.depth - 1 - row : row;
        if (level < 0 || level >= this.tree.depth)
            return -1;
        const value = this.valueAt(clientX);
        const node = this.tree.findInLevel(level, value);
        const start = this.tree.start[node]!;
        return value >= start && value < start + this.tree.total[node]! ? node : -1;
    }

    valueAt(clientX: number): number {
        return this.from + ((clientX - this.canvas.getBoundingClientRect().left) / this.width) * (this.to - this.from);
    }

    /* Where a node is in the window, for pointers that tests or tooltips make up. */
    boxOf(node: number): { left: number; top: number; width: number; height: number } {
        const [left, width] = this.#spanOf(node);
        const box = this.canvas.getBoundingClientRect();
        return { left: box.left + left, top: box.top + this.#topOf(this.tree!.level[node]!), width, height: ROW };
    }

    /* Left and width in pixels, as far as it is in sight. */
    #spanOf(node: number): [number, number] {
        const { start, total } = this.tree!;
        const scale = this.width / (this.to - this.from);
        const left = Math.max(0, (start[node]! - this.from) * scale);
        const right = Math.min(this.width, (start[node]! + total[node]! - this.from) * scale);
        return [left, right - left];
    }

    requestDraw(): void {
        if (this.#isPending)
            return;
        this.#isPending = true;
        requestAnimationFrame(() => {
            this.#isPending = false;
            this.guard(() => this.draw());
        });
    }

    #readStyle(): Style {
        const style = getComputedStyle(this.scroller);
        this.painter.labels.setFont(style.fontFamily);
        return {
            text: style.getPropertyValue("--flame-text"),
            match: style.getPropertyValue("--flame-match"),
            matchText: style.getPropertyValue("--flame-match-text"),
            root: style.getPropertyValue("--flame-root"),
            outline: style.getPropertyValue("--flame-outline"),
            hatch: style.getPropertyValue("--flame-hatch") || "rgb(0 0 0 / 25%)",
        };
    }

    draw(): void {
        const context = this.context;
        context.clearRect(0, 0, this.width, this.height);
        if (!this.tree || !(this.to > this.from))
            return;
        this.#style ??= this.#readStyle();
        this.painter.begin({ tree: this.tree, look: this.look, style: this.#style, zoomed: this.zoomed, isMatch: this.isMatch });
        if (this.#movers)
            this.#drawMovers(this.#movers);
        else
            this.#eachBox((_level, node, x, width, y) => this.painter.box(node, x, y, width));
        this.painter.end();
        this.drawOutlines();
    }

    #drawMovers(movers: readonly Mover[]): void {
        for (const { node, level, from, to } of movers) {
            const x = from[0] + (to[0] - from[0]) * this.#moved;
            const width = from[1] + (to[1] - from[1]) * this.#moved;
            const left = Math.max(0, x);
            const right = Math.min(this.width, x + width);
            if (right > left)
                this.painter.box(node, left, this.#topOf(level), right - left);
        }
    }

    /* The boxes in sight. */
    #eachBox(visit: (level: number, node: number, x: number, width: number, y: number) => void): void {
        let y = 0;
        const isInSight = (level: number) => (y = this.#topOf(level)) > -ROW && y < this.height;
        const layout = new Layout(this.tree!, { from: this.from, to: this.to, width: this.width });
        layout.each(isInSight, (level, node, x, width) => visit(level, node, x, width, y));
    }

    drawOutlines(): void {
        this.#pen.clearRect(0, 0, this.width, this.height);
        if (!this.tree || !(this.to > this.from) || this.#movers)
            return;
        this.#style ??= this.#readStyle();
        this.#outline(this.hovered, 1);
        this.#outline(this.selected, 2);
    }

    #outline(node: number, lineWidth: number): void {
        if (node < 0 || node >= this.tree!.count)
            return;
        const [left, width] = this.#spanOf(node);
        if (width <= 0)
            return;
        const pen = this.#pen;
        pen.strokeStyle = this.#style!.outline;
        pen.lineWidth = lineWidth;
        pen.beginPath();
        pen.roundRect(left + 0.5, this.#topOf(this.tree!.level[node]!) + 0.5, Math.max(1, width - 1), ROW - 1, RADIUS);
        pen.stroke();
    }
}
