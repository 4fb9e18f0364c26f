/* Which flame graph one looks at, as the address says it: a copied link shows the very view. */
import { hash, type ColourBy } from "../../../flame/colours";
import type { Words } from "../../../flame/profile";
import type { Tree } from "../../../flame/tree";
import { setParams, type Params, type Route } from "../../route";

export const VIEWS = [["cpu", "CPU"], ["wall", "Wall"], ["alloc", "Allocations"], ["exceptions", "Exceptions"], ["contention", "Contention"]] as const;
export type ViewId = (typeof VIEWS)[number][0];
export const SHOWS = [["graph", "Graph"], ["sandwich", "Callers and callees"], ["table", "Table"]] as const;
export type Show = (typeof SHOWS)[number][0];
export const COLOURS = [["module", "module"], ["space", "namespace"], ["waiting", "running or waiting"]] as const;
export const SORTS = ["self", "total", "name", "change"] as const;
export type Sort = (typeof SORTS)[number];

export interface FlameState {
    view: ViewId;
    show: Show;
    isInverted: boolean; // callers first
    isFlame: boolean; // grows upwards
    colour: ColourBy;
    at: string; // what is zoomed into: a path of frames, each as a short hash
    up: string; // the same among the callers of a method
    window: string; // where that is not all of it: "0.25-0.5" of its width
    search: string;
    method: string; // whose callers and callees
    module: string;
    base: string; // compared with: a recording, or "kept:RECORDING@SECONDS"
    byTime: boolean; // compared per second, not per share
    isBefore: boolean; // widths are the baseline's
    sort: Sort;
    isUpwards: boolean; // smallest first
    last: number; // seconds; 0: all
    all: boolean; // small calls too
}

function oneOf<T extends string>(value: string | null, known: readonly T[], standard: T): T {
    return known.includes(value as T) ? (value as T) : standard;
}

export function readState({ params }: Route): FlameState {
    const text = (name: string) => params.get(name) ?? "";
    const sort = text("sort");
    return {
        view: oneOf(params.get("view"), VIEWS.map(([id]) => id), "cpu"),
        show: oneOf(params.get("show"), SHOWS.map(([id]) => id), "graph"),
        isInverted: text("order") === "callers",
        isFlame: text("direction") === "up",
        colour: oneOf(params.get("colour"), COLOURS.map(([id]) => id), "module"),
        at: text("at"),
        up: text("up"),
        window: text("window"),
        search: text("search"),
        method: text("method"),
        module: text("module"),
        base: text("base"),
        byTime: text("norm") !== "total",
        isBefore: text("side") === "before",
        sort: oneOf(sort.replace(/^-/, ""), SORTS, text("base") ? "change" : "self"),
        isUpwards: sort.startsWith("-"),
        last: Math.max(0, Math.min(60, Number(text("last")) || 0)),
        all: text("nodes") === "all",
    };
}

/* `isStep`: the browser's "back" returns to what was before. */
export function change(params: Params, isStep = false): void {
    setParams(params, !isStep);
}

/* --- paths --- */

const hashes = new WeakMap<Words, string[]>();

function hashOf(words: Words, frame: number): string {
    let known = hashes.get(words);
    if (!known)
        hashes.set(words, (known = []));
    const { name, module } = words.frames;
    return (known[frame] ??= hash(`${words.modules[module[frame]!]}!${name[frame]}`).toString(36));
}

export function pathOf(tree: Tree, node: number): string {
    return tree.framesTo(node).map((frame) => hashOf(tree.profile.words, frame)).join(".");
}

/* The node at the end of a path; `isWhole`: all of it was found. */
export function nodeAtPath(tree: Tree, path: string): { node: number; isWhole: boolean } {
    let node = 0;
    for (const part of path ? path.split(".") : []) {
        const end = tree.childrenEnd(node);
        let child = tree.firstChild[node]!;
        while (child < end && hashOf(tree.profile.words, tree.frame[child]!) !== part)
            child++;
        if (child >= end)
            return { node, isWhole: false };
        node = child;
    }
    return { node, isWhole: true };
}

/* A part of a node's width, as the address has it. */
export function windowText(tree: Tree, node: number, from: number, to: number): string {
    const size = tree.total[node]! || 1;
    const share = (value: number) => ((value - tree.start[node]!) / size).toFixed(5);
    const isAll = from <= tree.start[node]! + size * 1e-6 && to >= tree.start[node]! + size * (1 - 1e-6);
    return isAll ? "" : `${share(from)}-${share(to)}`;
}

export function parseWindow(text: string): [number, number] | null {
    const found = /^(0|1|0?\.\d+|1\.0+)-(0|1|0?\.\d+|1\.0+)$/.exec(text);
    const [from, to] = [Number(found?.[1]), Number(found?.[2])];
    return found && to > from ? [from, to] : null;
}
