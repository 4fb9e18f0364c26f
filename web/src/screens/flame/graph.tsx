/* One flame graph on the page: the canvas, kept in step with the address and with what was read. While somebody points at boxes
 * they stay where they are; what came meanwhile is shown a little later. */
import { useEffect, useRef } from "preact/hooks";
import type { Matcher } from "../../../flame/about";
import { FlameCanvas, type Look } from "../../../flame/canvas";
import { strengthOf } from "../../../flame/change";
import type { Colours } from "../../../flame/colours";
import { Gestures } from "../../../flame/gestures";
import { formatValue } from "../../../flame/text";
import type { Tree } from "../../../flame/tree";
import { calleeTree, callerTree } from "../../../flame/unfold";
import { useGuard, type Guard } from "../../ui/guard";
import { changeAt } from "./facts";
import type { Model } from "./model";
import { nodeAtPath, parseWindow, pathOf, windowText } from "./state";

const REST_MS = 2500; // a pointer that rested so long does not hold anything
const LOOK_AGAIN_MS = 300;
const SORT_AGAIN_MS = 10_000;
const NARROW = 60; // pixels: a found box gets at least so many

/* What is drawn: a tree and what it was made of. The newest model comes some time before its tree. */
export interface ShownTree {
    tree: Tree;
    model: Model;
}

export interface GraphHandle {
    canvas: FlameCanvas;
    shown: ShownTree | null;
    gestures: Gestures;
    select: (node: number) => void; // -1: none
    zoom: (node: number) => void;
    isZoomed: () => boolean;
    goTo: (path: string) => void; // zooms there without a step for the browser's "back"
    reveal: (node: number) => void; // selects it and makes it wide enough to see
}

export interface GraphProps {
    model: Model;
    isCallers: boolean;
    frame: number; // -1: of everything
    stir: string; // what somebody chose: another one is shown at once
    isUp: boolean;
    colours: Colours;
    matcher: Matcher | null;
    rootName: string;
    path: string;
    window: string;
    label: string;
    handle: { current: GraphHandle | null };
    onChange: () => void; // another tree, or another box selected
    onPlace: (path: string, window: string, isStep: boolean) => void;
    onHover: (node: number, x: number, y: number) => void;
    onBack: () => void;
    onSearch: () => void;
    onKey: (key: string) => boolean;
}

function lookOf({ model, colours, rootName }: GraphProps, tree: Tree): Look {
    const rootLabel = `${rootName}  ${formatValue(tree.total[0]!, model.unit)}`;
    if (model.base) {
        const whole = Math.max(tree.total[0]!, tree.base[0]!);
        const strength = (node: number) => strengthOf(changeAt(model, tree.total[node]!, tree.base[node]!), whole);
        const signOf = (node: number) => { const value = strength(node); return value > 0.1 ? 1 : value < -0.1 ? -1 : 0; };
        return { colourOf: (node) => colours.ofChange(strength(node)), signOf, rootLabel };
    }
    if (colours.by === "waiting" && tree.wait.length)
        return { colourOf: (node) => colours.ofWaiting(tree.wait[node]! / (tree.total[node]! || 1)), rootLabel };
    return { colourOf: (node) => colours.of(tree.frame[node]!), rootLabel };
}

/* The life of one canvas; the component tells it what changed. */
class GraphKeeper implements GraphHandle {
    readonly canvas: FlameCanvas;
    readonly gestures: Gestures;
    props: GraphProps;
    #shown: (ShownTree & { shape: string; stir: string }) | null = null;
    #timer = 0;
    #placeTimer = 0;
    #sortedAt = 0;

    constructor(scroller: HTMLElement, spacer: HTMLElement, drawing: HTMLCanvasElement, props: GraphProps, readonly guard: Guard) {
        this.props = props;
        this.canvas = new FlameCanvas(scroller, spacer, drawing, guard);
        this.gestures = new Gestures(this.canvas, {
            hover: (node, x, y) => this.props.onHover(node, x, y),
            select: (node) => this.select(node),
            zoom: (node) => this.zoom(node),
            back: () => this.props.onBack(),
            search: () => this.props.onSearch(),
            moved: () => this.#tellPlaceSoon(),
            key: (key) => this.props.onKey(key),
        });
        (scroller as HTMLElement & { flameGraph?: GraphKeeper }).flameGraph = this;
    }

    destroy(): void {
        clearTimeout(this.#timer);
        clearTimeout(this.#placeTimer);
        this.gestures.destroy();
        this.canvas.destroy();
    }

    get tree(): Tree | null {
        return this.canvas.tree;
    }

    get shown(): ShownTree | null {
        return this.#shown;
    }

    select(node: number): void {
        this.canvas.selected = node;
        this.canvas.drawOutlines();
        this.props.onChange();
    }

    zoom(node: number): void {
        if (node === this.canvas.zoomed && this.canvas.to - this.canvas.from === this.tree!.total[node])
            return;
        this.canvas.zoomTo(node);
        this.props.onPlace(pathOf(this.tree!, node), "", true);
    }

    isZoomed(): boolean {
        const { canvas } = this;
        return canvas.zoomed > 0 || canvas.to - canvas.from < (this.tree?.total[0] ?? 0) * (1 - 1e-9);
    }

    goTo(path: string): void {
        clearTimeout(this.#placeTimer);
        this.#placeTimer = 0;
        const { node } = nodeAtPath(this.tree!, path);
        this.canvas.zoomTo(node);
        this.props.onPlace(pathOf(this.tree!, node), "", false);
    }

    reveal(node: number): void {
        const { tree, canvas } = this;
        if (!tree)
            return;
        this.select(node);
        let around = node;
        while (around > 0 && (tree.total[node]! / tree.total[tree.parent[around]!]!) * canvas.width >= NARROW)
            around = tree.parent[around]!;
        const box = canvas.boxOf(node);
        if (box.width < Math.min(NARROW, canvas.width / 4))
            this.zoom(around);
        canvas.reveal(node);
    }

    #tellPlaceSoon(): void {
        clearTimeout(this.#placeTimer);
        this.#placeTimer = setTimeout(() => this.guard(() => {
            this.#placeTimer = 0;
            const { canvas, tree } = this;
            if (tree)
                this.props.onPlace(pathOf(tree, canvas.zoomed), windowText(tree, canvas.zoomed, canvas.from, canvas.to), false);
        }), 250) as unknown as number;
    }

    /* Shows what the properties say, now or when nobody points at what is there. */
    adopt(): void {
        clearTimeout(this.#timer);
        const { props } = this;
        const shape = `${props.isCallers} ${props.frame}`;
        const shown = this.#shown;
        const isOther = !shown || shown.shape !== shape;
        if (!isOther && shown.model === props.model)
            return;
        const isAsked = isOther || shown.stir !== props.stir;
        const now = performance.now();
        if (!isAsked && (this.gestures.isBusy(now, REST_MS) || this.canvas.isMoving)) {
            this.#timer = setTimeout(() => this.guard(() => this.adopt()), LOOK_AGAIN_MS) as unknown as number;
            return;
        }
        const resorts = isAsked || (this.gestures.pointer === null && now - this.#sortedAt > SORT_AGAIN_MS);
        if (resorts)
            this.#sortedAt = now;
        this.#shown = { tree: this.#build(isOther, !resorts), model: props.model, shape, stir: props.stir };
        if (!this.#placeTimer) // else the address does not say yet where one is
            this.follow();
        this.gestures.again();
        props.onChange();
    }

    #build(isOther: boolean, keepsOrder: boolean): Tree {
        const { model, isCallers, frame } = this.props;
        const options = { base: model.base, wait: model.wait, frame, old: isOther ? null : this.tree, keepsOrder };
        const tree = (isCallers ? callerTree : calleeTree)(model.calls, model.weights, options);
        const look = lookOf(this.props, tree);
        if (isOther)
            this.canvas.show(tree, look);
        else
            this.canvas.update(tree, look);
        return tree;
    }

    restyle(): void {
        if (!this.tree || this.#shown?.model !== this.props.model)
            return;
        this.canvas.isMatch = this.props.matcher;
        this.canvas.restyle(lookOf(this.props, this.tree));
    }

    /* Zooms to where the address says. */
    follow(): void {
        const { tree, canvas, props } = this;
        if (!tree)
            return;
        const { node, isWhole } = nodeAtPath(tree, props.path);
        const part = isWhole ? parseWindow(props.window) : null;
        if (part) {
            const [start, size] = [tree.start[node]!, tree.total[node]!];
            const [from, to] = [start + part[0] * size, start + part[1] * size];
            if (Math.abs(from - canvas.from) + Math.abs(to - canvas.to) > size * 1e-4)
                canvas.showWindow(from, to, true);
        } else if (isWhole && pathOf(tree, canvas.zoomed) !== props.path) {
            canvas.zoomTo(node);
        } else if (isWhole && !props.window && canvas.to - canvas.from < tree.total[node]! * (1 - 1e-9)) {
            canvas.zoomTo(node);
        }
    }
}

const HELP = "Arrow keys walk the boxes, Enter zooms in, Escape goes back, plus and minus zoom, slash searches. The table has the same numbers.";

export function Graph(props: GraphProps) {
    const scroller = useRef<HTMLDivElement>(null);
    const spacer = useRef<HTMLDivElement>(null);
    const drawing = useRef<HTMLCanvasElement>(null);
    const keeper = useRef<GraphKeeper | null>(null);
    const guard = useGuard();
    useEffect(() => {
        const made = new GraphKeeper(scroller.current!, spacer.current!, drawing.current!, props, guard);
        keeper.current = props.handle.current = made;
        return () => {
            made.destroy();
            keeper.current = props.handle.current = null;
        };
    }, []);
    useEffect(() => {
        keeper.current!.props = props;
    });
    useEffect(() => keeper.current!.canvas.setDirection(props.isUp ? "flame" : "icicle"), [props.isUp]);
    useEffect(() => keeper.current!.adopt(), [props.model, props.isCallers, props.frame, props.stir]);
    useEffect(() => keeper.current!.restyle(), [props.colours, props.matcher, props.rootName]);
    useEffect(() => keeper.current!.follow(), [props.path, props.window]);
    return (
        <div ref={scroller} class="flame-scroll" tabIndex={0} role="application" aria-roledescription="flame graph" aria-label={`${props.label}. ${HELP}`}>
            <div ref={spacer} class="flame-space"><canvas ref={drawing} aria-hidden="true" /></div>
        </div>
    );
}
