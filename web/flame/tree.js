/* Profiles as the page gets them, and the trees one can draw of them. No DOM in here.
 *
 * A profile: { views: [{ name, label, unit, scale }], threads: [{ id, name }], modules: [text], spaces: [text],
 *   frames: { name, detail, module, space, kind, flags, source }   columns, one entry a frame
 *   nodes:  { parent, frame }                                      parents first; node 0 is the root
 *   rows:   { thread, node, values: [[...], ...] }                 what a thread spent in a node itself,
 *                                                                  to be multiplied with the view's scale
 *   diff:   true where view 0 is "after" and view 1 "before" }
 */

export const FRAMEWORK = 1;
export const ASYNC = 2;
export const WAITING = 4;
export const KIND = { managed: 0, native: 1, runtime: 2, type: 3, kernel: 4, process: 5 };
export const KIND_LABELS = ["managed", "native", "runtime", "type", "kernel", "process"];

/* Beyond these a tree of callers is not unfolded further: nobody sees a hundred-thousandth. */
const SMALLEST_SHARE = 1e-5;
const NODES_MAX = 400000;

export class Profile {
    constructor(data) {
        this.views = data.views;
        this.threads = data.threads;
        this.modules = data.modules;
        this.spaces = data.spaces;
        this.frames = data.frames;
        this.frameCount = data.frames.name.length;
        this.parent = Int32Array.from(data.nodes.parent);
        this.frame = Int32Array.from(data.nodes.frame);
        this.nodeCount = this.parent.length;
        this.rows = data.rows;
        this.isDiff = Boolean(data.diff);
        this.#indexChildren();
    }

    /* The children of node n are childList[childStart[n]] up to childStart[n + 1]. */
    #indexChildren() {
        const start = new Int32Array(this.nodeCount + 2);
        for (let n = 1; n < this.nodeCount; n++)
            start[this.parent[n] + 2]++;
        for (let n = 1; n < start.length; n++)
            start[n] += start[n - 1];
        this.childList = new Int32Array(Math.max(0, this.nodeCount - 1));
        for (let n = 1; n < this.nodeCount; n++)
            this.childList[start[this.parent[n] + 1]++] = n;
        this.childStart = start;
    }

    /* A name without its namespace. */
    shortName(frame) {
        const name = this.frames.name[frame];
        const space = this.spaces[this.frames.space[frame]];
        return space && name.startsWith(`${space}.`) ? name.slice(space.length + 1) : name;
    }

    /* Self and total of every node in one view, for one thread or (-1) all. */
    weigh(view, thread) {
        const values = this.rows.values[view];
        const scale = this.views[view].scale;
        const self = new Float64Array(this.nodeCount);
        for (let i = 0; i < values.length; i++) {
            if (thread < 0 || this.rows.thread[i] === thread)
                self[this.rows.node[i]] += values[i] * scale;
        }
        const total = Float64Array.from(self);
        for (let n = this.nodeCount - 1; n > 0; n--)
            total[this.parent[n]] += total[n];
        return { self, total };
    }

    /* Calls `visit(node, isOutermost)` for every node, callers first; outermost: no caller further up is
     * in the same method, so that recursion counts once. */
    walk(visit) {
        const open = new Int32Array(this.frameCount);
        const stack = [0];
        while (stack.length) {
            const item = stack.pop();
            if (item < 0) {
                open[this.frame[-item]]--;
                continue;
            }
            if (item > 0) {
                visit(item, open[this.frame[item]] === 0);
                open[this.frame[item]]++;
                stack.push(-item);
            }
            for (let c = this.childStart[item]; c < this.childStart[item + 1]; c++)
                stack.push(this.childList[c]);
        }
    }

    /* Self and total of every method. */
    sumByFrame(weights) {
        const self = new Float64Array(this.frameCount);
        const total = new Float64Array(this.frameCount);
        this.walk((node, isOutermost) => {
            self[this.frame[node]] += weights.self[node];
            if (isOutermost)
                total[this.frame[node]] += weights.total[node];
        });
        return { self, total };
    }

    outermostNodes(frame) {
        const nodes = [];
        this.walk((node, isOutermost) => {
            if (isOutermost && this.frame[node] === frame)
                nodes.push(node);
        });
        return nodes;
    }
}

/* What is drawn: nodes level by level, each level from left to right, heavy siblings first. Node 0 is
 * everything. `start` and `total` are in the unit of the view; `base` is the total in the other profile
 * of a comparison. */
export class Tree {
    constructor(profile, root) {
        this.profile = profile;
        this.parent = [-1];
        this.frame = [-1];
        this.self = [root.self];
        this.total = [root.total];
        this.base = [root.base];
        this.start = [0];
        this.level = [0];
        this.firstChild = [];
        this.levels = [];
        this.isCut = false;
    }

    get count() {
        return this.frame.length;
    }

    /* Appends the children of `parent`: [{ frame, self, total, base }], not yet sorted. */
    addChildren(parent, children) {
        this.firstChild[parent] = this.count;
        children.sort((a, b) => b.total - a.total || a.frame - b.frame);
        let start = this.start[parent];
        for (const child of children) {
            this.parent.push(parent);
            this.frame.push(child.frame);
            this.self.push(child.self);
            this.total.push(child.total);
            this.base.push(child.base);
            this.start.push(start);
            this.level.push(this.level[parent] + 1);
            start += child.total;
        }
    }

    /* levels[d] is the first node of level d; one more entry ends the last. */
    finish() {
        for (let n = 0; n < this.count; n++) {
            if (this.level[n] === this.levels.length)
                this.levels.push(n);
        }
        this.levels.push(this.count);
        for (const column of ["parent", "frame", "level", "firstChild"])
            this[column] = Int32Array.from(this[column]);
        for (const column of ["self", "total", "base", "start"])
            this[column] = Float64Array.from(this[column]);
        return this;
    }

    get depth() {
        return this.levels.length - 1;
    }

    childrenEnd(node) {
        return node + 1 < this.count ? this.firstChild[node + 1] : this.count;
    }

    /* The last node of a level that starts at or before `value`, or the level's first. */
    findInLevel(level, value) {
        let low = this.levels[level];
        let high = this.levels[level + 1] - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.start[middle] <= value)
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }

    /* From the outermost node, everything's not counted, down to `node`. */
    pathTo(node) {
        const path = [];
        for (let n = node; n > 0; n = this.parent[n])
            path.unshift(n);
        return path;
    }

    /* How much of everything lies in or below a node that `isMatch(frame)`. */
    matchedTotal(isMatch) {
        const covered = new Uint8Array(this.count);
        let sum = 0;
        for (let n = 1; n < this.count; n++) {
            if (covered[this.parent[n]])
                covered[n] = 1;
            else if (isMatch(this.frame[n])) {
                covered[n] = 1;
                sum += this.total[n];
            }
        }
        return sum;
    }
}

/* Unfolds a tree level by level. `groups[n]` is what the tree's node n is made of; `split` sorts a group
 * into the groups of its children: [{ frame, self, total, base, group }]. */
function unfold(tree, rootGroup, split) {
    const groups = [rootGroup];
    const least = tree.total[0] * SMALLEST_SHARE;
    for (let n = 0; n < tree.count; n++) {
        const isTooSmall = tree.count > NODES_MAX && tree.total[n] < least;
        const children = isTooSmall ? [] : split(groups[n], n).filter((child) => child.total > 0);
        tree.isCut ||= isTooSmall;
        tree.addChildren(n, children);
        for (const child of children)
            groups.push(child.group);
        groups[n] = null;
    }
    return tree.finish();
}

function groupOf(children, frame) {
    let child = children.get(frame);
    if (!child) {
        child = { frame, self: 0, total: 0, base: 0, group: [] };
        children.set(frame, child);
    }
    return child;
}

function sumOf(nodes, values) {
    return values ? nodes.reduce((sum, node) => sum + values[node], 0) : 0;
}

/* Who calls whom, from the outside in. With `frame`: from the calls of that method on. */
export function calleeTree(profile, weights, base, frame = -1) {
    const single = (node) => ({
        frame: profile.frame[node], self: weights.self[node], total: weights.total[node],
        base: base ? base.total[node] : 0, group: [node],
    });
    const childrenOf = (node) => profile.childList.subarray(profile.childStart[node], profile.childStart[node + 1]);
    const merge = (nodes) => {
        const children = new Map();
        for (const node of nodes) {
            const child = groupOf(children, profile.frame[node]);
            child.self += weights.self[node];
            child.total += weights.total[node];
            child.base += base ? base.total[node] : 0;
            child.group.push(node);
        }
        return [...children.values()];
    };
    const split = (group) => (group.length === 1
        ? Array.from(childrenOf(group[0]), single) // of different methods already
        : merge(group.flatMap((node) => [...childrenOf(node)])));
    if (frame < 0) {
        const root = { self: weights.self[0], total: weights.total[0], base: base ? base.total[0] : 0 };
        return unfold(new Tree(profile, root), [0], split);
    }
    const nodes = profile.outermostNodes(frame);
    const root = { self: 0, total: sumOf(nodes, weights.total), base: sumOf(nodes, base?.total) };
    return unfold(new Tree(profile, root), nodes, (group, n) => (n === 0 ? merge(group) : split(group)));
}

function nodesWithWeight(values, baseValues) {
    const nodes = [];
    for (let n = 1; n < values.length; n++) {
        if (values[n] > 0 || (baseValues && baseValues[n] > 0))
            nodes.push(n);
    }
    return nodes;
}

/* From where the time went to who asked for it. With `frame`: the callers of that method, with all that
 * it spent. A group is a flat list of pairs: where on its way up a stack is, and whose weight it has. */
export function callerTree(profile, weights, base, frame = -1) {
    const values = frame < 0 ? weights.self : weights.total;
    const baseValues = frame < 0 ? base?.self : base?.total;
    const leaves = frame < 0 ? nodesWithWeight(values, baseValues) : profile.outermostNodes(frame);
    const root = { self: 0, total: sumOf(leaves, values), base: sumOf(leaves, baseValues) };
    const pairs = [];
    leaves.forEach((leaf) => pairs.push(leaf, leaf));
    return unfold(new Tree(profile, root), pairs, (group, node) => {
        const children = new Map();
        for (let i = 0; i < group.length; i += 2) {
            const at = group[i];
            const leaf = group[i + 1];
            if (at === 0)
                continue;
            const child = groupOf(children, profile.frame[at]);
            child.total += values[leaf];
            child.base += baseValues ? baseValues[leaf] : 0;
            child.self += node === 0 && frame < 0 ? values[leaf] : 0; // its callers spent it elsewhere
            child.group.push(profile.parent[at], leaf);
        }
        return [...children.values()];
    });
}
