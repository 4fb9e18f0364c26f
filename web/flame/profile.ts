/* Who called whom and what it cost: the calls of a profile as columns of numbers, and the HTML report's form of one. No DOM in
 * here. Parents come before their children; node 0 is the root.
 *
 * The report's: { views: [{ name, label, unit, scale }], threads: [{ id, name }], modules: [text], spaces: [text],
 *   frames: { name, detail, module, space, kind, flags, source }   columns, one entry a frame
 *   nodes:  { parent, frame }                                      parents first; node 0 is the root
 *   rows:   { thread, node, values: [[...], ...] }                 what a thread spent in a node itself,
 *                                                                  to be multiplied with the view's scale
 *   diff:   true where view 0 is "after" and view 1 "before" }
 */

export const FRAMEWORK = 1;
export const ASYNC = 2;
export const WAITING = 4;
export const KIND = { managed: 0, native: 1, runtime: 2, type: 3, kernel: 4, process: 5 } as const;
export const KIND_LABELS = ["managed", "native", "runtime", "type", "kernel", "process"] as const;

/* Columns, one entry a frame; `module` and `space` are indices of the words beside them. */
export interface Frames {
    name: string[];
    detail?: (string | null)[];
    module: number[];
    space: number[];
    kind: number[];
    flags: number[];
    source?: (string | null)[];
}

export interface Words {
    frames: Frames;
    modules: string[];
    spaces: string[];
}

export interface Weights {
    self: Float64Array;
    total: Float64Array;
}

/* A name without its namespace. */
export function shortName(words: Words, frame: number): string {
    const name = words.frames.name[frame] ?? "";
    const space = words.spaces[words.frames.space[frame]!];
    return space && name.startsWith(`${space}.`) ? name.slice(space.length + 1) : name;
}

export class Calls {
    readonly nodeCount: number;
    readonly frameCount: number;
    readonly childStart: Int32Array; // the children of node n are childList[childStart[n]] up to childStart[n + 1]
    readonly childList: Int32Array;

    constructor(readonly words: Words, readonly parent: Int32Array, readonly frame: Int32Array) {
        this.nodeCount = parent.length;
        this.frameCount = words.frames.name.length;
        const start = new Int32Array(this.nodeCount + 2);
        for (let n = 1; n < this.nodeCount; n++)
            start[parent[n]! + 2]!++;
        for (let n = 1; n < start.length; n++)
            start[n]! += start[n - 1]!;
        this.childList = new Int32Array(Math.max(0, this.nodeCount - 1));
        for (let n = 1; n < this.nodeCount; n++)
            this.childList[start[parent[n]! + 1]!++] = n;
        this.childStart = start;
    }

    get frames(): Frames {
        return this.words.frames;
    }

    /* Calls `visit(node, isOutermost)` for every node, callers first; outermost: no caller further up is in the same method, so
     * that recursion counts once. */
    walk(visit: (node: number, isOutermost: boolean) => void): void {
        const open = new Int32Array(this.frameCount);
        const stack = new Int32Array(2 * this.nodeCount + 1);
        let depth = 1; // on it: the root, 0
        while (depth > 0) {
            const item = stack[--depth]!;
            if (item < 0) {
                open[this.frame[-item]!]!--;
                continue;
            }
            if (item > 0) {
                visit(item, open[this.frame[item]!] === 0);
                open[this.frame[item]!]!++;
                stack[depth++] = -item;
            }
            for (let c = this.childStart[item]!; c < this.childStart[item + 1]!; c++)
                stack[depth++] = this.childList[c]!;
        }
    }

    /* Self and total of every method. */
    sumByFrame(weights: Weights): Weights {
        const self = new Float64Array(this.frameCount);
        const total = new Float64Array(this.frameCount);
        this.walk((node, isOutermost) => {
            self[this.frame[node]!]! += weights.self[node]!;
            if (isOutermost)
                total[this.frame[node]!]! += weights.total[node]!;
        });
        return { self, total };
    }

    outermostNodes(frame: number): Int32Array {
        const nodes: number[] = [];
        this.walk((node, isOutermost) => {
            if (isOutermost && this.frame[node] === frame)
                nodes.push(node);
        });
        return Int32Array.from(nodes);
    }

    /* Of what was spent in each node and below it, the part that waited: frames that only wait say so. */
    waiting(self: Float64Array): Float64Array {
        const flags = this.frames.flags;
        const wait = new Float64Array(this.nodeCount);
        for (let n = this.nodeCount - 1; n > 0; n--) {
            if (flags[this.frame[n]!]! & WAITING)
                wait[n]! += self[n]!;
            wait[this.parent[n]!]! += wait[n]!;
        }
        return wait;
    }
}

export interface View {
    name: string;
    label: string;
    unit: string;
    scale: number;
}

export interface ProfileData extends Words {
    views: View[];
    threads: { id: number; name: string }[];
    nodes: { parent: number[]; frame: number[] };
    rows: { thread: number[]; node: number[]; values: number[][] };
    diff?: boolean;
}

/* What an HTML report holds: several views of the same calls, by thread. */
export class Profile extends Calls {
    readonly views: View[];
    readonly threads: ProfileData["threads"];
    readonly rows: ProfileData["rows"];
    readonly isDiff: boolean;

    constructor(data: ProfileData) {
        super(data, Int32Array.from(data.nodes.parent), Int32Array.from(data.nodes.frame));
        this.views = data.views;
        this.threads = data.threads;
        this.rows = data.rows;
        this.isDiff = Boolean(data.diff);
    }

    get modules(): string[] {
        return this.words.modules;
    }

    get spaces(): string[] {
        return this.words.spaces;
    }

    /* Self and total of every node in one view, for one thread or (-1) all. */
    weigh(view: number, thread: number): Weights {
        const values = this.rows.values[view]!;
        const scale = this.views[view]!.scale;
        const self = new Float64Array(this.nodeCount);
        for (let i = 0; i < values.length; i++) {
            if (thread < 0 || this.rows.thread[i] === thread)
                self[this.rows.node[i]!]! += values[i]! * scale;
        }
        const total = Float64Array.from(self);
        for (let n = this.nodeCount - 1; n > 0; n--)
            total[this.parent[n]!]! += total[n]!;
        return { self, total };
    }
}
