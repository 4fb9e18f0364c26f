/* Pointer, wheel, touch and keys on a flame graph: what they mean is the same in the report and on the page.
 *
 * Mouse: a click zooms, dragging moves the window, Ctrl and the wheel (or two fingers on a pad) zoom where the pointer is. Touch: a
 * tap selects, a double tap zooms. Keys: arrows walk the boxes, Enter zooms, Escape goes back, + and - zoom, / searches. */
import type { FlameCanvas } from "./canvas";

export interface GestureHandlers {
    hover: (node: number, x: number, y: number) => void; // -1: on none
    select: (node: number) => void;
    zoom: (node: number) => void;
    back: () => void;
    search: () => void;
    moved?: () => void; // the window is another
    key?: (key: string) => boolean; // other keys; true: it meant something
}

const DOUBLE_TAP_MS = 350;
const DRAG_PIXELS = 4;
const WHEEL_SPEED = 0.0022;
const KEY_STEP = 1.5;

export class Gestures {
    readonly #canvas: FlameCanvas;
    readonly #on: GestureHandlers;
    readonly #stop = new AbortController();
    #drag: { x: number; from: number; to: number; isMoving: boolean } | null = null;
    #tap = { node: -1, time: 0 };
    #wasDragged = false;
    #pointer = "mouse";
    pointer: { x: number; y: number; time: number } | null = null; // where it is, while it is over the graph

    constructor(canvas: FlameCanvas, handlers: GestureHandlers) {
        this.#canvas = canvas;
        this.#on = handlers;
        const element = canvas.scroller;
        const { signal } = this.#stop;
        element.addEventListener("keydown", (event) => this.#onKey(event), { signal });
        element.addEventListener("pointerdown", (event) => this.#onDown(event), { signal });
        element.addEventListener("pointermove", (event) => this.#onMove(event), { signal });
        element.addEventListener("pointerup", () => this.#endDrag(), { signal });
        element.addEventListener("pointercancel", () => this.#endDrag(), { signal });
        element.addEventListener("pointerleave", () => this.#onLeave(), { signal });
        element.addEventListener("scroll", () => this.#on.hover(-1, 0, 0), { signal, passive: true });
        element.addEventListener("click", (event) => this.#onClick(event), { signal });
        element.addEventListener("wheel", (event) => this.#onWheel(event), { signal, passive: false });
    }

    destroy(): void {
        this.#stop.abort();
    }

    /* Whether somebody points or drags right now: then nothing should move away. */
    isBusy(now: number, restMs: number): boolean {
        return Boolean(this.#drag?.isMoving) || (this.pointer !== null && now - this.pointer.time < restMs);
    }

    #onLeave(): void {
        this.pointer = null;
        this.hoverAt(-1, 0, 0);
    }

    /* What is under the pointer, also when not the pointer moved but the boxes. */
    again(): void {
        if (this.pointer && this.#pointer === "mouse")
            this.hoverAt(this.#canvas.nodeAt(this.pointer.x, this.pointer.y), this.pointer.x, this.pointer.y);
    }

    hoverAt(node: number, x: number, y: number): void {
        if (node !== this.#canvas.hovered) {
            this.#canvas.hovered = node;
            this.#canvas.drawOutlines();
            this.#canvas.scroller.style.cursor = node >= 0 ? "pointer" : "";
        }
        this.#on.hover(node, x, y);
    }

    #onDown(event: PointerEvent): void {
        this.#pointer = event.pointerType;
        this.#wasDragged = false;
        if (event.button === 0)
            this.#drag = { x: event.clientX, from: this.#canvas.from, to: this.#canvas.to, isMoving: false };
    }

    #onMove(event: PointerEvent): void {
        this.pointer = { x: event.clientX, y: event.clientY, time: performance.now() };
        if (this.#drag && event.buttons & 1) {
            this.#dragTo(event);
            return;
        }
        this.#drag = null;
        if (event.pointerType === "mouse" || event.pointerType === "pen")
            this.hoverAt(this.#canvas.nodeAt(event.clientX, event.clientY), event.clientX, event.clientY);
    }

    #dragTo(event: PointerEvent): void {
        const drag = this.#drag!;
        const canvas = this.#canvas;
        const isWhole = drag.to - drag.from >= (canvas.tree?.total[0] ?? 0);
        if (isWhole || (!drag.isMoving && Math.abs(event.clientX - drag.x) < DRAG_PIXELS))
            return;
        if (!drag.isMoving) {
            drag.isMoving = true;
            canvas.scroller.setPointerCapture(event.pointerId);
            this.hoverAt(-1, 0, 0);
        }
        const shift = ((event.clientX - drag.x) / canvas.width) * (drag.to - drag.from);
        canvas.showWindow(drag.from - shift, drag.to - shift);
    }

    #endDrag(): void {
        this.#wasDragged = Boolean(this.#drag?.isMoving);
        this.#drag = null;
        if (this.#wasDragged)
            this.#on.moved?.();
    }

    #onClick(event: MouseEvent): void {
        const node = this.#canvas.nodeAt(event.clientX, event.clientY);
        if (this.#wasDragged || node < 0)
            return;
        if (this.#pointer !== "touch") {
            this.#on.zoom(node);
            this.#on.select(node);
            return;
        }
        const now = performance.now();
        const isSecond = node === this.#tap.node && now - this.#tap.time < DOUBLE_TAP_MS;
        this.#tap = { node, time: isSecond ? 0 : now };
        this.#on.select(node);
        if (isSecond)
            this.#on.zoom(node);
    }

    #onWheel(event: WheelEvent): void {
        const canvas = this.#canvas;
        if (!canvas.tree)
            return;
        const size = canvas.to - canvas.from;
        if (event.ctrlKey || event.metaKey) {
            event.preventDefault();
            const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 30;
            const middle = canvas.valueAt(event.clientX);
            const factor = Math.exp(Math.max(-300, Math.min(300, pixels)) * WHEEL_SPEED);
            canvas.showWindow(middle - (middle - canvas.from) * factor, middle + (canvas.to - middle) * factor);
        } else if ((event.shiftKey ? event.deltaY : event.deltaX) && size < canvas.tree.total[0]!) {
            event.preventDefault();
            const shift = ((event.shiftKey ? event.deltaY : event.deltaX) / canvas.width) * size;
            canvas.showWindow(canvas.from + shift, canvas.to + shift);
        } else {
            return;
        }
        this.hoverAt(-1, 0, 0);
        this.#on.moved?.();
    }

    /* In or out around what is selected, or the middle. */
    #zoomBy(factor: number): void {
        const canvas = this.#canvas;
        const { start, total } = canvas.tree!;
        const at = canvas.selected;
        const middle = at > 0 ? Math.max(canvas.from, Math.min(canvas.to, start[at]! + total[at]! / 2)) : (canvas.from + canvas.to) / 2;
        canvas.showWindow(middle - (middle - canvas.from) * factor, middle + (canvas.to - middle) * factor, true);
        this.#on.moved?.();
    }

    /* The neighbour of a node in a direction, itself if there is none. Boxes too narrow to see are passed over. */
    #neighbour(node: number, key: string): number {
        const canvas = this.#canvas;
        const tree = canvas.tree!;
        const inwards = canvas.direction === "flame" ? "ArrowUp" : "ArrowDown";
        if (key === inwards)
            return tree.firstChild[node]! < tree.childrenEnd(node) ? tree.firstChild[node]! : node;
        if (key === "ArrowUp" || key === "ArrowDown")
            return Math.max(0, tree.parent[node]!);
        const level = tree.level[node]!;
        const step = key === "ArrowRight" ? 1 : -1;
        const least = (0.5 * (canvas.to - canvas.from)) / (canvas.width || 1);
        let next = node + step;
        while (next >= tree.levels[level]! && next < tree.levels[level + 1]! && tree.total[next]! < least)
            next += step;
        return next >= tree.levels[level]! && next < tree.levels[level + 1]! ? next : node;
    }

    #walk(key: string): void {
        const canvas = this.#canvas;
        const node = canvas.selected < 0 ? canvas.zoomed : this.#neighbour(canvas.selected, key);
        this.#on.select(node);
        canvas.reveal(node);
    }

    #onKey(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey || !this.#canvas.tree)
            return;
        if (this.#act(event.key))
            event.preventDefault();
    }

    #act(key: string): boolean {
        switch (key) {
        case "ArrowUp": case "ArrowDown": case "ArrowLeft": case "ArrowRight":
            this.#walk(key);
            return true;
        case "Enter":
            if (this.#canvas.selected >= 0)
                this.#on.zoom(this.#canvas.selected);
            return true;
        case "Escape": case "Backspace":
            this.#on.back();
            return true;
        case "/":
            this.#on.search();
            return true;
        case "+": case "=":
            this.#zoomBy(1 / KEY_STEP);
            return true;
        case "-":
            this.#zoomBy(KEY_STEP);
            return true;
        default:
            return this.#on.key?.(key) ?? false;
        }
    }
}
