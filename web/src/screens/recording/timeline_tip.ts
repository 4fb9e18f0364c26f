/* What the time line says under the pointer. */
import { count, percent, seconds } from "../../format";
import { bucketAt, collectionAt, laneAt, REQUEST_ROW, requestAt, type Lane } from "./lanes";
import type { Scene } from "./timeline_draw";

const GENERATIONS = ["generation 0, the youngest", "generation 1", "generation 2, the whole heap"];

type Teller = (scene: Scene, lane: Lane, at: number, y: number, slack: number) => string[];

const TELLERS: Partial<Record<Lane["kind"], Teller>> = {
    cpu: ({ data }, _lane, at) => {
        const bucket = bucketAt(data, at);
        return bucket < 0 ? [] : [`CPU ${percent(data.cpu[bucket] ?? 0)}`, "100 % is one CPU"];
    },
    gc: ({ data }, _lane, at, _y, slack) => {
        const one = collectionAt(data, at, slack);
        return one ? [`Collection of ${GENERATIONS[one.generation] ?? `generation ${one.generation}`}`, `paused ${seconds(one.pauseMilliseconds / 1000)}`, one.reason] : ["no collection"];
    },
    requests: ({ packed }, lane, at, y, slack) => {
        const one = requestAt(packed, at, Math.floor((y - lane.top - 5) / REQUEST_ROW), slack);
        return one ? [one.name, `${one.direction ?? "request"}, took ${seconds(one.end - one.start)}${one.status ? `, status ${one.status}` : ""}${one.failed ? ", failed" : ""}`] : ["no request"];
    },
    exceptions: ({ data }, _lane, at) => {
        const bucket = bucketAt(data, at);
        return bucket < 0 ? [] : [`${count(data.exceptions[bucket] ?? 0)} thrown in ${seconds((data.to - data.from) / data.buckets)}`];
    },
    thread: ({ data }, lane, at) => {
        const bucket = bucketAt(data, at);
        const { thread } = lane;
        return thread ? [`${lane.label}, thread ${thread.tid} of ${thread.process || thread.pid}`, `${bucket < 0 ? "–" : percent(thread.running[bucket] ?? 0)} running here`, `${seconds(thread.cpuSeconds)} CPU in all`] : [];
    },
    process: (_scene, lane) => [lane.label, `${lane.detail} of CPU time by the threads shown`],
};

export function tipAt(scene: Scene, at: number, y: number): string[] {
    const lane = laneAt(scene.lanes, y);
    const slack = ((scene.view.to - scene.view.from) / Math.max(1, scene.width)) * 3;
    const told = lane ? (TELLERS[lane.kind]?.(scene, lane, at, y, slack) ?? []) : [];
    return [`at ${seconds(Number(at.toPrecision(6)))}`, ...told];
}
