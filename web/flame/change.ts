/* Two amounts compared: what it was, what it is, and how one says that. */
import { formatChange, formatPercent, formatValue } from "./text";

export interface Change {
    before: number;
    after: number;
    change: number;
}

export const changeOf = (before: number, after: number): Change => ({ before, after, change: after - before });

/* In percent of what it was, as in the text of sonde diff. */
export function growth({ before, after, change }: Change): string {
    if (!(before > 0))
        return after > 0 ? "new" : "";
    return after > 0 ? formatChange(change, (part) => formatPercent(part, before)) : "gone";
}

export function changeText(change: Change, unit: string): string {
    const text = (value: number) => formatValue(value, unit);
    return `${text(change.before)} before, ${text(change.after)} after: ${formatChange(change.change, text)} (${growth(change)})`;
}

const FULL_COLOUR = 0.005; // a change of this share of everything has its full colour

/* -1 (gone) to 1 (new), weighed by what it matters: how strongly it is coloured. */
export function strengthOf({ before, after, change }: Change, whole: number): number {
    const largest = Math.max(before, after);
    const weight = Math.min(1, Math.abs(change) / (FULL_COLOUR * (whole || 1)));
    return largest > 0 ? (change / largest) * weight : 0;
}
