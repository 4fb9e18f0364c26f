/* Makes trees of calls: from the outside in, or from where it was spent to who asked for it; of everything or of one method.
 *
 * Level by level. Each node of the tree has candidates: nodes of the profile that come next below it. Those of the same method
 * become one child, whose candidates are the callees (or the caller) of each. All in arrays of numbers: a million nodes are
 * ordinary. */
import type { Calls, Weights } from "./profile";
import { Tree, type TreeColumns } from "./tree";

/* Beyond these a tree of callers is not unfolded further: nobody sees a hundred-thousandth. */
const SMALLEST_SHARE = 1e-5;
const NODES_MAX = 200000;

export interface UnfoldOptions {
    base?: Weights | null; // the other side of a comparison
    wait?: Float64Array | null; // of each node of the profile (Calls.waiting)
    frame?: number; // of this method only; -1: of all
    old?: Tree | null; // the tree that was shown before: its nodes are found again ...
    keepsOrder?: boolean; // ... and siblings stay in its order, so that nothing moves but what must
}

interface Sources {
    self: Float64Array | null; // of candidates, as what the child itself spent; null: nothing
    total: Float64Array;
    base: Float64Array | null;
    wait: Float64Array | null;
}

class Column<T extends Int32Array | Float64Array> {
    length = 0;

    constructor(private make: (size: number) => T, public data: T = make(1024)) {}

    ensure(size: number): void {
        if (size <= this.data.length)
            return;
        const larger = this.make(Math.max(size, this.data.length * 2));
        larger.set(this.data as never);
        this.data = larger;
    }

    push(value: number): void {
        this.ensure(this.length + 1);
        this.data[this.length++] = value;
    }

    done(): T {
        return this.data.slice(0, this.length) as T;
    }
}

const integers = () => new Column((size) => new Int32Array(size));
const numbers = () => new Column((size) => new Float64Array(size));

/* The candidates of a level: nodes of the profile and whose weight each has, those of one node of the tree together. */
class Candidates {
    node = integers();
    weight = integers();
    end = integers(); // of each node of the tree in this level

    clear(): void {
        this.node.length = this.weight.length = this.end.length = 0;
    }
}

/* The children that a node of the tree gets, before they are in order. */
class Children {
    count = 0;
    frame: number[] = [];
    self: number[] = [];
    total: number[] = [];
    base: number[] = [];
    wait: number[] = [];
    next: number[] = []; // how many candidates, then where the next one goes
    isDone: boolean[] = []; // nothing comes below it
    old: number[] = [];
    order: number[] = [];

    add(frame: number): number {
        const at = this.count++;
        this.frame[at] = frame;
        this.self[at] = this.total[at] = this.base[at] = this.wait[at] = this.next[at] = 0;
        this.old[at] = -1;
        this.isDone[at] = true;
        return at;
    }
}

class Unfolding {
    readonly parent = integers();
    readonly frame = integers();
    readonly level = integers();
    readonly firstChild = integers();
    readonly self = numbers();
    readonly total = numbers();
    readonly base = numbers();
    readonly wait = numbers();
    readonly start = numbers();
    readonly old = integers();
    readonly levels: number[] = [0];
    isCut = false;
    readonly #slot: Int32Array;
    readonly #children = new Children();

    constructor(readonly calls: Calls, readonly isUp: boolean, readonly options: UnfoldOptions) {
        this.#slot = new Int32Array(calls.frameCount).fill(-1);
        for (const column of [this.parent, this.frame, this.level, this.firstChild, this.self, this.total, this.start])
            column.ensure(isUp ? 1024 : calls.nodeCount);
    }

    addRoot(self: number, total: number, base: number, wait: number): void {
        this.#append(-1, -1, 0, self, total, base, wait, 0, 0);
    }

    #append(parent: number, frame: number, level: number, self: number, total: number, base: number, wait: number, start: number, old: number): void {
        this.parent.push(parent);
        this.frame.push(frame);
        this.level.push(level);
        this.self.push(self);
        this.total.push(total);
        if (this.options.base)
            this.base.push(base);
        if (this.options.wait)
            this.wait.push(wait);
        this.start.push(start);
        if (this.options.old)
            this.old.push(old);
    }

    /* Sorts the candidates of a node by method. */
    #gather(from: Candidates, begin: number, end: number, sources: Sources): void {
        const children = this.#children;
        const { frame, childStart, parent } = this.calls;
        children.count = 0;
        for (let i = begin; i < end; i++) {
            const node = from.node.data[i]!;
            const weight = from.weight.data[i]!;
            let at = this.#slot[frame[node]!]!;
            if (at < 0)
                this.#slot[frame[node]!] = at = children.add(frame[node]!);
            if (sources.self)
                children.self[at]! += sources.self[weight]!;
            children.total[at]! += sources.total[weight]!;
            if (sources.base)
                children.base[at]! += sources.base[weight]!;
            if (sources.wait)
                children.wait[at]! += sources.wait[weight]!;
            children.next[at]! += this.isUp ? Number(parent[node] !== 0) : childStart[node + 1]! - childStart[node]!;
        }
    }

    /* Finds the children in the tree before: the children of the same parent there. */
    #recognise(treeNode: number): void {
        const { old } = this.options;
        const before = old ? this.old.data[treeNode]! : -1;
        if (!old || before < 0)
            return;
        const end = old.childrenEnd(before);
        for (let child = old.firstChild[before]!; child < end; child++) {
            const frame = old.frame[child]!;
            const at = frame < this.#slot.length ? this.#slot[frame]! : -1;
            if (at >= 0)
                this.#children.old[at] = child;
        }
    }

    /* Heavy ones first, unless they have an order already. */
    #sort(): void {
        const { order, total, frame, old, count } = this.#children;
        order.length = 0;
        for (let at = 0; at < count; at++) {
            if (total[at]! > 0)
                order.push(at);
        }
        if (order.length < 2)
            return;
        if (order.length === 2 && !this.options.keepsOrder) {
            if (total[order[1]!]! > total[order[0]!]! || (total[order[1]!] === total[order[0]!] && frame[order[1]!]! < frame[order[0]!]!))
                order.reverse();
            return;
        }
        const byWeight = (a: number, b: number) => total[b]! - total[a]! || frame[a]! - frame[b]!;
        const byPlace = (a: number, b: number) => (old[a]! >= 0 && old[b]! >= 0 ? old[a]! - old[b]!
            : old[a]! >= 0 ? -1 : old[b]! >= 0 ? 1 : byWeight(a, b));
        order.sort(this.options.keepsOrder ? byPlace : byWeight);
    }

    /* Appends the children in order, and makes room for the candidates of each. */
    #place(treeNode: number, to: Candidates): void {
        const children = this.#children;
        let start = this.start.data[treeNode]!;
        let room = to.node.length;
        const level = this.level.data[treeNode]! + 1;
        for (const at of children.order) {
            this.#append(treeNode, children.frame[at]!, level, children.self[at]!, children.total[at]!, children.base[at]!,
                children.wait[at]!, start, children.old[at]!);
            start += children.total[at]!;
            const size = this.#isTooSmall(children.total[at]!) ? 0 : children.next[at]!;
            children.isDone[at] = size === 0;
            children.next[at] = room;
            room += size;
            to.end.push(room);
        }
        to.node.ensure(room);
        to.weight.ensure(room);
        to.node.length = to.weight.length = room;
    }

    /* Of callers there may be more than nodes in the profile; those of next to nothing are not followed then. */
    #isTooSmall(total: number): boolean {
        const isSmall = this.isUp && this.frame.length > NODES_MAX && total < this.total.data[0]! * SMALLEST_SHARE;
        this.isCut ||= isSmall;
        return isSmall;
    }

    #hand(from: Candidates, begin: number, end: number, to: Candidates): void {
        const { next, isDone } = this.#children;
        const { frame, parent, childStart, childList } = this.calls;
        for (let i = begin; i < end; i++) {
            const node = from.node.data[i]!;
            const at = this.#slot[frame[node]!]!;
            if (isDone[at])
                continue;
            if (this.isUp && parent[node] !== 0) {
                to.node.data[next[at]!] = parent[node]!;
                to.weight.data[next[at]!++] = from.weight.data[i]!;
            }
            for (let c = childStart[node]!; !this.isUp && c < childStart[node + 1]!; c++) {
                to.node.data[next[at]!] = childList[c]!;
                to.weight.data[next[at]!++] = childList[c]!;
            }
        }
    }

    #unfoldNode(treeNode: number, from: Candidates, begin: number, end: number, to: Candidates, sources: Sources): void {
        this.firstChild.push(this.frame.length);
        if (begin === end)
            return;
        this.#gather(from, begin, end, sources);
        this.#recognise(treeNode);
        this.#sort();
        this.#place(treeNode, to);
        this.#hand(from, begin, end, to);
        for (let at = 0; at < this.#children.count; at++)
            this.#slot[this.#children.frame[at]!] = -1;
    }

    /* `sources` of the first level; what the callers of a method spent is not their own, so `later` has no self. */
    run(first: Candidates, sources: Sources, later: Sources): Tree {
        let from = first;
        let to = new Candidates();
        let begin = 0;
        while (begin < this.frame.length) {
            const end = this.frame.length;
            let candidate = 0;
            to.clear();
            for (let node = begin; node < end; node++) {
                const last = from.end.data[node - begin]!;
                this.#unfoldNode(node, from, candidate, last, to, begin === 0 ? sources : later);
                candidate = last;
            }
            this.levels.push(end);
            begin = end;
            [from, to] = [to, from];
        }
        return new Tree(this.calls, this.#columns(), this.levels, this.isCut);
    }

    #columns(): TreeColumns {
        return {
            parent: this.parent.done(), frame: this.frame.done(), level: this.level.done(), firstChild: this.firstChild.done(),
            self: this.self.done(), total: this.total.done(), base: this.base.done(), wait: this.wait.done(),
            start: this.start.done(), old: this.old.done(),
        };
    }
}

function candidatesOf(nodes: Int32Array): Candidates {
    const candidates = new Candidates();
    for (const node of nodes) {
        candidates.node.push(node);
        candidates.weight.push(node);
    }
    candidates.end.push(nodes.length);
    return candidates;
}

function sumOf(nodes: Int32Array, values: Float64Array | null | undefined): number {
    let sum = 0;
    for (let i = 0; values && i < nodes.length; i++)
        sum += values[nodes[i]!]!;
    return sum;
}

/* Who calls whom, from the outside in. With `frame`: from the calls of that method on. */
export function calleeTree(calls: Calls, weights: Weights, options: UnfoldOptions = {}): Tree {
    const { base, wait, frame = -1 } = options;
    const sources: Sources = { self: weights.self, total: weights.total, base: base?.total ?? null, wait: wait ?? null };
    const unfolding = new Unfolding(calls, false, options);
    if (frame < 0) {
        unfolding.addRoot(weights.self[0]!, weights.total[0]!, base?.total[0] ?? 0, wait?.[0] ?? 0);
        return unfolding.run(candidatesOf(calls.childList.subarray(calls.childStart[0], calls.childStart[1])), sources, sources);
    }
    const nodes = calls.outermostNodes(frame);
    unfolding.addRoot(0, sumOf(nodes, weights.total), sumOf(nodes, base?.total), sumOf(nodes, wait));
    return unfolding.run(candidatesOf(nodes), sources, sources);
}

function nodesWithWeight(values: Float64Array, others: Float64Array | undefined): Int32Array {
    const nodes = integers();
    for (let n = 1; n < values.length; n++) {
        if (values[n]! > 0 || (others && others[n]! > 0))
            nodes.push(n);
    }
    return nodes.done();
}

/* The part of each node's own that waited. */
function ownWaiting(calls: Calls, wait: Float64Array): Float64Array {
    const own = Float64Array.from(wait);
    for (let n = 1; n < calls.nodeCount; n++)
        own[calls.parent[n]!]! -= wait[n]!;
    return own;
}

/* From where the time went to who asked for it. With `frame`: the callers of that method, with all that it spent. */
export function callerTree(calls: Calls, weights: Weights, options: UnfoldOptions = {}): Tree {
    const { base, frame = -1 } = options;
    const isAll = frame < 0;
    const values = isAll ? weights.self : weights.total;
    const others = isAll ? base?.self : base?.total;
    const wait = options.wait ? (isAll ? ownWaiting(calls, options.wait) : options.wait) : null;
    const leaves = isAll ? nodesWithWeight(values, others) : calls.outermostNodes(frame);
    const later: Sources = { self: null, total: values, base: others ?? null, wait };
    const unfolding = new Unfolding(calls, true, options);
    unfolding.addRoot(0, sumOf(leaves, values), sumOf(leaves, others), sumOf(leaves, wait));
    return unfolding.run(candidatesOf(leaves), { ...later, self: isAll ? values : null }, later);
}
