/* Where the boxes of a tree are in a window of so many pixels, row by row. Nodes too narrow to see share a box of under a pixel,
 * so the number of boxes is bounded by the pixels, however many nodes there are. No DOM in here.
 *
 * Each row is laid out within the boxes of the row above. So no box crosses its parent's edge, also where a sum of parts is not
 * quite the whole. */
import type { Tree } from "./tree";

export const NARROWEST = 0.5; // pixels: a box has at least so many

export interface Window {
    from: number; // in the unit of the view
    to: number;
    width: number; // pixels
}

/* The boxes of a row, from left to right. */
class Row {
    count = 0;
    readonly node: number[] = []; // the first one of a box: its name and colour are the box's
    readonly end: number[] = []; // behind the last one
    readonly left: number[] = []; // pixels
    readonly right: number[] = [];

    /* Keeps a box at least NARROWEST wide, between `low` and `high`, which are that far apart. */
    add(node: number, end: number, left: number, right: number, low: number, high: number): void {
        const at = this.count++;
        const begin = Math.max(low, Math.min(high, left));
        const stop = Math.min(high, Math.max(right, begin + NARROWEST));
        this.node[at] = node;
        this.end[at] = end;
        this.left[at] = Math.max(low, Math.min(begin, stop - NARROWEST));
        this.right[at] = stop;
    }
}

export class Layout {
    #above = new Row();
    #below = new Row();

    constructor(readonly tree: Tree, readonly window: Window) {}

    /* Calls `visit` for the boxes of each level from the root down; `isShown(level)`, asked once before them, leaves a level out. */
    each(isShown: (level: number) => boolean, visit: (level: number, node: number, x: number, width: number) => void): void {
        const { tree, window } = this;
        if (!(window.to > window.from) || window.width < NARROWEST)
            return;
        this.#above.count = 0;
        this.#addNodes(this.#above, 0, 1, 0, window.width);
        for (let level = 0; level < tree.depth && this.#above.count > 0; level++) {
            const row = this.#above;
            const count = isShown(level) ? row.count : 0;
            for (let at = 0; at < count; at++)
                visit(level, row.node[at]!, row.left[at]!, row.right[at]! - row.left[at]!);
            this.#descend();
        }
    }

    #descend(): void {
        const { tree } = this;
        const [above, below] = [this.#above, this.#below];
        below.count = 0;
        for (let at = 0; at < above.count; at++)
            this.#addNodes(below, tree.firstChild[above.node[at]!]!, tree.childrenEnd(above.end[at]! - 1), above.left[at]!, above.right[at]!);
        [this.#above, this.#below] = [below, above];
    }

    /* The boxes of the nodes from `first` to before `end`, within the pixels of the box above them. */
    #addNodes(row: Row, first: number, end: number, low: number, high: number): void {
        const { tree, window } = this;
        const { start, total } = tree;
        const scale = window.width / (window.to - window.from);
        const least = NARROWEST / scale;
        let n = tree.seek(first, end, window.from);
        if (n > first && start[n - 1]! + total[n - 1]! > window.from)
            n--;
        while (n < end && start[n]! < window.to) {
            const next = total[n]! >= least ? n + 1 : this.#endOfNarrow(n, end, least);
            const left = (start[n]! - window.from) * scale;
            row.add(n, next, left, (start[next - 1]! + total[next - 1]! - window.from) * scale, low, high);
            n = next;
        }
    }

    /* The narrow nodes that share a box with `n` begin within NARROWEST of it. The first wide one has a box of its own: what follows
     * it begins at least NARROWEST further, so that only the last of those found can be wide. */
    #endOfNarrow(n: number, end: number, least: number): number {
        const { start, total } = this.tree;
        const next = this.tree.seek(n + 1, end, start[n]! + least * (1 - 1e-9));
        return next - 1 > n && total[next - 1]! >= least ? next - 1 : next;
    }
}
