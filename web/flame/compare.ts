/* Two profiles as one: the calls of both, with what each has of them. Their frames are of one table. No DOM in here. */
import { Calls, type Weights } from "./profile";

export interface Side {
    calls: Calls;
    weights: Weights;
}

export interface United {
    calls: Calls;
    now: Weights;
    before: Weights;
}

function scaled(weights: Weights, places: Int32Array, count: number, factor: number): Weights {
    const self = new Float64Array(count);
    const total = new Float64Array(count);
    for (let n = 0; n < places.length; n++) {
        self[places[n]!]! += weights.self[n]! * factor;
        total[places[n]!]! += weights.total[n]! * factor;
    }
    return { self, total };
}

/* `factor`: what each amount of `before` is multiplied with, so that both are of the same total or time. */
export function unite(now: Side, before: Side, factor: number): United {
    const most = now.calls.nodeCount + before.calls.nodeCount;
    const parent = new Int32Array(most);
    const frame = new Int32Array(most);
    frame[0] = -1;
    let count = 1;
    const children = new Map<number, number>();
    const width = Math.max(now.calls.frameCount, before.calls.frameCount) + 1;
    const placesOf = (calls: Calls): Int32Array => {
        const places = new Int32Array(calls.nodeCount);
        for (let n = 1; n < calls.nodeCount; n++) {
            const above = places[calls.parent[n]!]!;
            const key = above * width + calls.frame[n]!;
            let place = children.get(key);
            if (place === undefined) {
                place = count++;
                children.set(key, place);
                parent[place] = above;
                frame[place] = calls.frame[n]!;
            }
            places[n] = place;
        }
        return places;
    };
    const ours = placesOf(now.calls);
    const theirs = placesOf(before.calls);
    return {
        calls: new Calls(now.calls.words, parent.slice(0, count), frame.slice(0, count)),
        now: scaled(now.weights, ours, count, 1),
        before: scaled(before.weights, theirs, count, factor),
    };
}
