/* Counters in words: names, tags, values with units; and lists of them in the address. */
import { inUnit } from "../../format";
import type { Route } from "../../route";
import { quantileOf, valueOf, type Track } from "./frames";

export const format = (value: number, track: Track): string => inUnit(value, track.unit, track.isRate, track.name);

/* Beside an axis: what is counted is in the title. */
export const formatTick = (value: number, { unit, isRate, name }: Track): string =>
    inUnit(value, unit.startsWith("{") && unit !== "{cpu}" ? "" : unit, isRate, name);

export function tagText(track: Track): string {
    return Object.entries(track.tags).map(([name, value]) => `${name}=${value}`).join(", ");
}

export function counterText(track: Track): string {
    const tags = tagText(track);
    return `${track.name}${tags ? ` {${tags}}` : ""}`;
}

/* In a legend: the tags tell apart what has the same name. */
export function describe(track: Track, withName: boolean): string {
    const tags = Object.values(track.tags).join(" ");
    return withName ? `${track.name}${tags ? ` ${tags}` : ""}` : (tags || track.name);
}

/* Whether they can be on one scale. */
export function isAlike(a: Track, b: Track): boolean {
    return a.unit === b.unit && a.isRate === b.isRate;
}

/* What is said of the latest value; of histograms more than the mean. */
export function latestText(track: Track): string {
    const { latest } = track;
    if (!latest)
        return "–";
    if (latest.kind !== "histogram") {
        const value = valueOf(latest);
        return value === null ? "–" : format(value, track);
    }
    const [p50, p99] = [quantileOf(latest, 0.5), quantileOf(latest, 0.99)];
    const spread = p50 === null ? "none" : `p50 ${format(p50, track)}, p99 ${p99 === null ? "–" : format(p99, track)}`;
    return `${spread} · ${inUnit(latest.rate, "", true)}`;
}

export function rawLatest(track: Track): number | null {
    return track.latest ? (track.latest.kind === "histogram" ? quantileOf(track.latest, 0.5) : valueOf(track.latest)) : null;
}

/* --- in the address: keys may hold anything, but not a raw bar once encoded --- */

export function keysOf(route: Route, name: string): string[] {
    return (route.params.get(name) ?? "").split("|").filter(Boolean).map((part) => part.replace(/%7C/g, "|").replace(/%25/g, "%"));
}

export function textOf(keys: string[]): string {
    return keys.map((key) => key.replace(/%/g, "%25").replace(/\|/g, "%7C")).join("|");
}

export function toggled(keys: string[], key: string): string {
    return textOf(keys.includes(key) ? keys.filter((one) => one !== key) : [...keys, key]);
}
