/* A synthetic profile of many nodes, the same each time: in Node and in the browser. */
import type { FrameRow, NodeRow } from "../web/flame/rows";

const METHODS = 5000;
const DEPTH = 60;

/* The same numbers each time. */
function random(seed: number): () => number {
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 4294967296;
    };
}

export interface Synthetic {
    frames: FrameRow[];
    nodes: NodeRow[];
}

/* Stacks that share their beginnings, as those of programs do: new nodes hang below old ones, more often below recent ones. */
export function synthesize(count: number): Synthetic {
    const next = random(42);
    const frames: FrameRow[] = Array.from({ length: METHODS }, (_, f) => [f, `Shop.Part${f % 37}.Type${f % 400}.Method${f}`, `Shop.Part${f % 37}`, "managed", f % 3 ? 1 : 0, ""]);
    const nodes: NodeRow[] = [[0, 0, -1, 0, 0]];
    const level = new Uint8Array(count);
    for (let n = 1; n < count; n++) {
        let parent = next() < 0.7 ? Math.max(0, n - 1 - Math.floor(next() * 50)) : Math.floor(next() * n);
        while (level[parent]! >= DEPTH)
            parent = nodes[parent]![1];
        level[n] = level[parent]! + 1;
        nodes.push([n, parent, Math.floor(next() ** 2 * METHODS), Math.ceil(next() ** 4 * 1000) * 1e5, 0]);
    }
    for (let n = count - 1; n > 0; n--) {
        nodes[n]![4] += nodes[n]![3];
        nodes[nodes[n]![1]]![4] += nodes[n]![4];
    }
    return { frames, nodes };
}
