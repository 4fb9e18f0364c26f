/* What is drawn: nodes level by level, each level from left to right. Node 0 is everything. No DOM in here. Unfolding is unfold.ts. */
import type { Calls } from "./profile";

/* `start` and `total` are in the unit of the view; `base` is the total in the other profile of a comparison, `wait` the part that
 * waited, both empty where nobody asked. */
export interface TreeColumns {
    parent: Int32Array;
    frame: Int32Array;
    level: Int32Array;
    firstChild: Int32Array;
    self: Float64Array;
    total: Float64Array;
    base: Float64Array;
    wait: Float64Array;
    start: Float64Array;
    old: Int32Array; // the same node in the tree before, -1: it is new; empty where there was none
}

export class Tree implements TreeColumns {
    readonly parent: Int32Array;
    readonly frame: Int32Array;
    readonly level: Int32Array;
    readonly firstChild: Int32Array;
    readonly self: Float64Array;
    readonly total: Float64Array;
    readonly base: Float64Array;
    readonly wait: Float64Array;
    readonly start: Float64Array;
    readonly old: Int32Array;
    readonly count: number;

    /* levels[d] is the first node of level d; one more entry ends the last. `isCut`: small stacks are not unfolded. */
    constructor(readonly profile: Calls, columns: TreeColumns, readonly levels: number[], readonly isCut: boolean) {
        this.parent = columns.parent;
        this.frame = columns.frame;
        this.level = columns.level;
        this.firstChild = columns.firstChild;
        this.self = columns.self;
        this.total = columns.total;
        this.base = columns.base;
        this.wait = columns.wait;
        this.start = columns.start;
        this.old = columns.old;
        this.count = columns.frame.length;
    }

    get depth(): number {
        return this.levels.length - 1;
    }

    childrenEnd(node: number): number {
        return node + 1 < this.count ? this.firstChild[node + 1]! : this.count;
    }

    childOf(node: number, frame: number): number {
        const end = this.childrenEnd(node);
        for (let child = this.firstChild[node]!; child < end; child++) {
            if (this.frame[child] === frame)
                return child;
        }
        return -1;
    }

    /* The last node of a level that starts at or before `value`, or the level's first. */
    findInLevel(level: number, value: number): number {
        let low = this.levels[level]!;
        let high = this.levels[level + 1]! - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.start[middle]! <= value)
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }

    /* The first node from `low` on, of those before `end`, that starts at or after `value`. */
    seek(low: number, end: number, value: number): number {
        let high = end;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.start[middle]! < value)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    /* From the outermost node, everything's not counted, down to `node`. */
    pathTo(node: number): number[] {
        const path: number[] = [];
        for (let n = node; n > 0; n = this.parent[n]!)
            path.push(n);
        return path.reverse();
    }

    framesTo(node: number): number[] {
        return this.pathTo(node).map((n) => this.frame[n]!);
    }

    /* The node at the end of a path of frames, or of as much of it as there is. */
    find(path: readonly number[]): number {
        let node = 0;
        for (const frame of path) {
            const child = this.childOf(node, frame);
            if (child < 0)
                break;
            node = child;
        }
        return node;
    }

    /* The innermost node that a window lies in. */
    covering(from: number, to: number): number {
        const slack = (to - from) * 1e-9;
        let node = 0;
        for (let level = 1; level < this.depth; level++) {
            const found = this.findInLevel(level, from + slack);
            if (this.start[found]! > from + slack || this.start[found]! + this.total[found]! < to - slack)
                break;
            node = found;
        }
        return node;
    }

    /* How much of everything lies in or below a node that `isMatch(frame)`. */
    matchedTotal(isMatch: (frame: number) => boolean): number {
        const covered = new Uint8Array(this.count);
        let sum = 0;
        for (let n = 1; n < this.count; n++) {
            if (covered[this.parent[n]!])
                covered[n] = 1;
            else if (isMatch(this.frame[n]!)) {
                covered[n] = 1;
                sum += this.total[n]!;
            }
        }
        return sum;
    }

    /* The nodes that match, heaviest first. */
    matches(isMatch: (frame: number) => boolean, most: number): number[] {
        const nodes: number[] = [];
        for (let n = 1; n < this.count; n++) {
            if (isMatch(this.frame[n]!))
                nodes.push(n);
        }
        return nodes.sort((a, b) => this.total[b]! - this.total[a]! || a - b).slice(0, most);
    }
}
