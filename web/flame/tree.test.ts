/* The trees are the data: counted here in the plainest way, and by the code in question. */
import assert from "node:assert/strict";
import test from "node:test";
import { Calls, WAITING, type Weights } from "./profile";
import { unite } from "./compare";
import { FrameTable, namespaceOf, Rows, since, type FrameRow, type NodeRow, type RowsAnswer } from "./rows";
import type { Tree } from "./tree";
import { calleeTree, callerTree } from "./unfold";

const NAMES = "abcdefgh";

function random(seed: number): () => number {
    let state = seed >>> 0;
    return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;
}

function answer(frames: FrameRow[], nodes: NodeRow[], more: Partial<RowsAnswer> = {}): RowsAnswer {
    return { version: 1, since: 0, unit: "nanoseconds", total: 0, durationSeconds: 1, lost: 0, complete: false, frames, nodes, ...more };
}

const FRAMES: FrameRow[] = [...NAMES].map((name, f) => [f, name, "m", "managed", f === 7 ? WAITING : 0, f === 2 ? "C.cs:1" : ""]);

/* Stacks with what was spent in each, and the same as rows. */
function made(seed: number, size = 60): { stacks: Map<string, number>; rows: Rows; nodes: NodeRow[] } {
    const next = random(seed);
    const nodes: NodeRow[] = [[0, 0, -1, 0, 0]];
    const paths = [""];
    const stacks = new Map<string, number>();
    while (nodes.length < size) {
        const parent = Math.floor(next() * nodes.length);
        const frame = Math.floor(next() * FRAMES.length);
        const path = paths[parent]! + NAMES[frame];
        if (paths.includes(path))
            continue;
        const self = Math.floor(next() * 4) * 10;
        nodes.push([nodes.length, parent, frame, self, 0]);
        paths.push(path);
        stacks.set(path, self);
    }
    for (let n = nodes.length - 1; n > 0; n--) {
        nodes[n]![4] += nodes[n]![3];
        nodes[nodes[n]![1]]![4] += nodes[n]![4];
    }
    const rows = new Rows(new FrameTable());
    assert.ok(rows.take(answer(FRAMES, nodes)));
    return { stacks, rows, nodes };
}

function totals(stacks: Iterable<[string, number]>): Map<string, number> {
    const sums = new Map<string, number>();
    for (const [stack, value] of stacks) {
        for (let length = 0; length <= stack.length; length++)
            sums.set(stack.slice(0, length), (sums.get(stack.slice(0, length)) ?? 0) + value);
    }
    return new Map([...sums].filter(([path, value]) => value > 0 || path === "").sort());
}

function drawn(tree: Tree, values = tree.total): Map<string, number> {
    const nodes = Array.from({ length: tree.count }, (_, n): [string, number] => [tree.framesTo(n).map((f) => NAMES[f]).join(""), values[n]!]);
    return new Map(nodes.sort());
}

/* What must hold of every tree: children lie within their parents, levels are in order. */
function checkShape(tree: Tree): void {
    for (let n = 1; n < tree.count; n++) {
        const parent = tree.parent[n]!;
        assert.equal(tree.level[n], tree.level[parent]! + 1);
        assert.ok(tree.firstChild[parent]! <= n && n < tree.childrenEnd(parent));
        assert.ok(tree.start[n]! >= tree.start[parent]! && tree.start[n]! + tree.total[n]! <= tree.start[parent]! + tree.total[parent]!);
    }
    for (let level = 0; level < tree.depth; level++) {
        for (let n = tree.levels[level]!; n < tree.levels[level + 1]!; n++) {
            assert.equal(tree.level[n], level);
            assert.equal(tree.findInLevel(level, tree.start[n]!), n);
            assert.equal(tree.seek(tree.levels[level]!, tree.levels[level + 1]!, tree.start[n]!), n);
        }
    }
}

test("callees are the stacks", () => {
    for (let seed = 1; seed < 30; seed++) {
        const { stacks, rows } = made(seed);
        const tree = calleeTree(rows.calls(), rows.weights());
        checkShape(tree);
        assert.deepEqual(drawn(tree), totals(stacks));
    }
});

test("callers are the stacks backwards", () => {
    for (let seed = 1; seed < 30; seed++) {
        const { stacks, rows } = made(seed);
        const tree = callerTree(rows.calls(), rows.weights());
        checkShape(tree);
        assert.deepEqual(drawn(tree), totals([...stacks].map(([stack, value]) => [[...stack].reverse().join(""), value])));
    }
});

test("callees and callers of one method count recursion once", () => {
    for (let seed = 1; seed < 30; seed++) {
        const { stacks, rows } = made(seed, 200);
        for (let frame = 0; frame < 3; frame++) {
            const name = NAMES[frame]!;
            const inside = [...stacks].filter(([stack]) => stack.includes(name));
            const below = calleeTree(rows.calls(), rows.weights(), { frame });
            const above = callerTree(rows.calls(), rows.weights(), { frame });
            checkShape(below);
            checkShape(above);
            assert.deepEqual(drawn(below), totals(inside.map(([stack, value]) => [stack.slice(stack.indexOf(name)), value])));
            assert.deepEqual(drawn(above), totals(inside.map(([stack, value]) => [[...stack.slice(0, stack.indexOf(name) + 1)].reverse().join(""), value])));
            const sum = inside.reduce((all, [, value]) => all + value, 0);
            assert.equal(rows.calls().sumByFrame(rows.weights()).total[frame], sum);
        }
    }
});

test("waiting is what its last frames say", () => {
    const { stacks, rows } = made(5, 150);
    const wait = rows.calls().waiting(rows.weights().self);
    const tree = calleeTree(rows.calls(), rows.weights(), { wait });
    const expected = totals([...stacks].filter(([stack]) => stack.endsWith(NAMES[7]!)));
    for (const [path, value] of drawn(tree, tree.wait))
        assert.equal(value, expected.get(path) ?? 0, path);
    const backwards = callerTree(rows.calls(), rows.weights(), { wait });
    const last = backwards.childOf(0, 7);
    assert.equal(backwards.wait[last], backwards.total[last]);
    assert.equal(backwards.wait[0], wait[0]);
});

test("what matches is counted once", () => {
    const { stacks, rows } = made(8, 200);
    const tree = calleeTree(rows.calls(), rows.weights());
    const expected = [...stacks].filter(([stack]) => /[ab]/.test(stack)).reduce((sum, [, value]) => sum + value, 0);
    assert.equal(tree.matchedTotal((frame) => frame < 2), expected);
    const found = tree.matches((frame) => frame === 0, 1000);
    assert.ok(found.every((node, i) => tree.frame[node] === 0 && (i === 0 || tree.total[found[i - 1]!]! >= tree.total[node]!)));
});

test("deltas add up to the whole", () => {
    const { nodes, rows: whole } = made(11, 120);
    const rows = new Rows(new FrameTable());
    const half = nodes.slice(0, 60).map(([id, parent, frame, self, total]): NodeRow => [id, parent, frame, Math.floor(self / 2), Math.floor(total / 2)]);
    assert.ok(rows.take(answer(FRAMES, half, { version: 3 })));
    const early = rows.weights();
    assert.equal(rows.take(answer([], [], { version: 9, since: 8 })), false, "an answer that continues another state is not taken");
    assert.ok(rows.take(answer([], nodes, { version: 4, since: 3 })));
    assert.equal(rows.version, 4);
    assert.deepEqual(drawn(calleeTree(rows.calls(), rows.weights())), drawn(calleeTree(whole.calls(), whole.weights())));
    assert.equal(early.self.length, 60, "an earlier state stays as it was");
    const later = since(rows.weights(), early);
    assert.equal(later.total[0], nodes[0]![4] - half[0]![4]);
    const epoch = rows.epoch;
    assert.ok(rows.take(answer(FRAMES, half, { version: 5, since: 0 })));
    assert.equal(rows.nodeCount, 60);
    assert.notEqual(rows.epoch, epoch);
});

test("a frame that comes again replaces the one with its id; a node that is no more is not drawn", () => {
    const rows = new Rows(new FrameTable());
    rows.take(answer([[4, "?", "", "native"]], [[0, 0, -1, 0, 5], [9, 0, 4, 5, 5]]));
    rows.take(answer([[4, "Shop.Cart.Add", "Shop", "managed", 0, "Cart.cs:7"]], [[0, 0, -1, 0, 6], [9, 0, 4, 6, 6]], { version: 2, since: 1 }));
    let tree = calleeTree(rows.calls(), rows.weights());
    assert.equal(rows.table.frames.name[tree.frame[1]!], "Shop.Cart.Add");
    assert.deepEqual(rows.linesOf(tree.frame[1]!), [{ source: "Cart.cs:7", self: 6, total: 6 }]);
    rows.take(answer([], [[9, 0, 4, 0, 0]], { version: 3, since: 2 }));
    tree = calleeTree(rows.calls(), rows.weights());
    assert.equal(tree.count, 1);
});

test("lines of a method are one box", () => {
    const rows = new Rows(new FrameTable());
    rows.take(answer([[1, "a", "m", "managed", 0, "A.cs:1"], [2, "a", "m", "managed", 0, "A.cs:2"], [3, "b", "m", "managed", 0, ""]],
        [[0, 0, -1, 0, 9], [1, 0, 1, 1, 3], [2, 0, 2, 4, 6], [3, 1, 3, 2, 2], [4, 2, 3, 2, 2]]));
    const tree = calleeTree(rows.calls(), rows.weights());
    assert.equal(tree.count, 3);
    assert.deepEqual([...tree.total], [9, 9, 4]);
    assert.deepEqual(rows.linesOf(tree.frame[1]!).map(({ source, total }) => [source, total]), [["A.cs:2", 6], ["A.cs:1", 3]]);
});

test("rows that make no sense are left out", () => {
    const rows = new Rows(new FrameTable());
    const nonsense = [[0, 0, -1, 0, 5], [1, 77, 0, 1, 1], [2, 0, 99, 1, 1], [-1, 0, 0, 1, 1], [1e12, 0, 0, 1, 1], [1.5, 0, 0, 1, 1], [3, 0, 0, "x", null], [4, 3, 0, 5, 5]];
    rows.take(answer([...FRAMES, [1e12, "x", "", "managed"], ["q", 1, 2, 3] as never], nonsense as never));
    assert.equal(rows.nodeCount, 3);
    assert.equal(calleeTree(rows.calls(), rows.weights()).count, 1, "its parent has nothing, so nothing is drawn");
    assert.equal(new Rows(new FrameTable()).calls().nodeCount, 1);
});

test("a tree finds its nodes again in a later state, and keeps their order", () => {
    const { nodes, rows } = made(21, 150);
    const before = calleeTree(rows.calls(), rows.weights());
    const next = random(3);
    const later = nodes.map(([id, parent, frame, self]): NodeRow => [id, parent, frame, self + (self ? Math.floor(next() * 50) : 0), 0]);
    for (let n = later.length - 1; n > 0; n--) {
        later[n]![4] += later[n]![3];
        later[later[n]![1]]![4] += later[n]![4];
    }
    rows.take(answer([], later, { version: 2, since: 1 }));
    for (const keepsOrder of [true, false]) {
        const tree = calleeTree(rows.calls(), rows.weights(), { old: before, keepsOrder });
        checkShape(tree);
        for (let n = 1; n < tree.count; n++) {
            assert.deepEqual(before.framesTo(tree.old[n]!), tree.framesTo(n));
            const isSibling = tree.parent[n] === tree.parent[n - 1];
            assert.ok(!keepsOrder || !isSibling || tree.old[n]! > tree.old[n - 1]!);
            assert.ok(keepsOrder || !isSibling || tree.total[n]! <= tree.total[n - 1]!);
        }
    }
});

test("two profiles as one have what each has", () => {
    const table = new FrameTable();
    const rowsOf = (nodes: NodeRow[]) => {
        const rows = new Rows(table);
        rows.take(answer(FRAMES, nodes));
        return rows;
    };
    const [one, other] = [made(31, 100), made(32, 80)];
    const [now, before] = [rowsOf(one.nodes), rowsOf(other.nodes)];
    const united = unite({ calls: now.calls(), weights: now.weights() }, { calls: before.calls(), weights: before.weights() }, 2);
    const tree = (weights: Weights, calls: Calls = united.calls) => drawn(calleeTree(calls, weights));
    assert.deepEqual(tree(united.now), totals(one.stacks));
    assert.deepEqual(tree(united.before), totals([...other.stacks].map(([stack, value]) => [stack, 2 * value])));
    const both = calleeTree(united.calls, united.now, { base: united.before });
    const expected = totals([...other.stacks].map(([stack, value]) => [stack, 2 * value]));
    for (const [path, value] of drawn(both, both.base))
        assert.equal(value, expected.get(path) ?? 0, path);
});

test("a window lies in the innermost node that covers it", () => {
    const { rows } = made(40, 150);
    const tree = calleeTree(rows.calls(), rows.weights());
    for (let n = 0; n < tree.count; n++) {
        const found = tree.covering(tree.start[n]!, tree.start[n]! + tree.total[n]!);
        assert.ok(tree.start[found] === tree.start[n] && tree.total[found] === tree.total[n]);
        assert.ok(tree.level[found]! >= tree.level[n]!);
        assert.equal(tree.find(tree.framesTo(n)), n);
    }
});

test("namespaces are what is before the type", () => {
    assert.equal(namespaceOf("Shop.Pricing.Discount.Apply(int)"), "Shop.Pricing");
    assert.equal(namespaceOf("Shop.Cart..ctor"), "Shop");
    assert.equal(namespaceOf("Program.Main"), "");
    assert.equal(namespaceOf("System.Collections.Generic.List<System.Int32>.Add"), "System.Collections");
    assert.equal(namespaceOf(""), "");
});
