/* What colour a frame has: its module or namespace gives the hue, the reader's own code is bright, the
 * framework pale, the runtime grey. In a comparison red grew and blue shrank. */
import { FRAMEWORK, KIND } from "./tree.js";

/* Hues that stay apart for most eyes, in the order they are given out: the heaviest module is orange. */
const HUES = [52, 240, 150, 340, 85, 285, 195, 20, 120, 312];
const FRAMEWORK_HUES = [255, 225, 285, 200];

function hash(text) {
    let value = 2166136261;
    for (let i = 0; i < text.length && i < 256; i++)
        value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return value >>> 0;
}

function oklch(lightness, chroma, hue) {
    return `oklch(${lightness.toFixed(3)} ${chroma.toFixed(3)} ${hue})`;
}

export class Colours {
    /* `by`: "module" or "space". `totals`: of every frame, to order the groups. */
    constructor(profile, totals, by, isDark) {
        this.profile = profile;
        this.by = by;
        this.isDark = isDark;
        this.cache = new Array(profile.frameCount);
        this.rankGroups(totals);
    }

    groupOf(frame) {
        const frames = this.profile.frames;
        return this.by === "module" ? frames.module[frame] : frames.space[frame];
    }

    groupName(group) {
        return (this.by === "module" ? this.profile.modules : this.profile.spaces)[group];
    }

    isOwn(frame) {
        const frames = this.profile.frames;
        return frames.kind[frame] === KIND.managed && !(frames.flags[frame] & FRAMEWORK);
    }

    /* Own groups, heaviest first. */
    rankGroups(totals) {
        const weights = new Map();
        for (let f = 0; f < this.profile.frameCount; f++) {
            if (this.isOwn(f))
                weights.set(this.groupOf(f), Math.max(weights.get(this.groupOf(f)) ?? 0, totals[f]));
        }
        this.ranked = [...weights.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
        this.rank = new Map(this.ranked.map(([group], index) => [group, index]));
    }

    of(frame) {
        return (this.cache[frame] ??= this.mix(frame));
    }

    ownColour(group, jitter) {
        const hue = HUES[(this.rank.get(group) ?? 0) % HUES.length];
        return this.isDark ? oklch(0.52 + jitter, 0.105, hue) : oklch(0.82 + jitter, 0.1, hue);
    }

    mix(frame) {
        const frames = this.profile.frames;
        const jitter = ((hash(frames.name[frame]) % 64) / 63 - 0.5) * (this.isDark ? 0.07 : 0.06);
        switch (frames.kind[frame]) {
        case KIND.type:
            return this.isDark ? oklch(0.48 + jitter, 0.09, 175) : oklch(0.86 + jitter, 0.08, 175);
        case KIND.process:
            return this.isDark ? oklch(0.45 + jitter, 0.02, 255) : oklch(0.8 + jitter, 0.025, 255);
        case KIND.kernel:
            return this.isDark ? oklch(0.42 + jitter, 0.06, 30) : oklch(0.83 + jitter, 0.06, 30);
        case KIND.runtime:
            return this.isDark ? oklch(0.4 + jitter, 0.03, 30) : oklch(0.84 + jitter, 0.03, 30);
        case KIND.native:
            return this.isDark ? oklch(0.38 + jitter, 0.012, 80) : oklch(0.87 + jitter, 0.012, 80);
        default:
            break;
        }
        if (this.isOwn(frame))
            return this.ownColour(this.groupOf(frame), jitter);
        const hue = FRAMEWORK_HUES[hash(this.groupName(this.groupOf(frame))) % FRAMEWORK_HUES.length];
        return this.isDark ? oklch(0.38 + jitter, 0.028, hue) : oklch(0.91 + jitter, 0.022, hue);
    }

    /* `change`: -1 (gone) to 1 (new), weighed by what it matters. */
    ofChange(change) {
        const strength = Math.min(1, Math.abs(change));
        const hue = change > 0 ? 25 : 255;
        if (this.isDark)
            return oklch(0.36 + 0.2 * strength, 0.005 + 0.165 * strength, hue);
        return oklch(0.93 - 0.25 * strength, 0.004 + 0.156 * strength, hue);
    }

    /* For the legend: [{ label, colour }]. */
    legend() {
        const items = this.ranked.slice(0, 6).map(([group]) => ({
            label: this.groupName(group) || (this.by === "module" ? "no module" : "no namespace"),
            colour: this.ownColour(group, 0),
        }));
        const kinds = new Set(this.profile.frames.kind);
        const dark = this.isDark;
        if (this.ranked.length > 6)
            items.push({ label: `${this.ranked.length - 6} more`, colour: "transparent" });
        items.push({ label: "framework", colour: dark ? oklch(0.38, 0.028, 255) : oklch(0.91, 0.022, 255) });
        if (kinds.has(KIND.native) || kinds.has(KIND.runtime))
            items.push({ label: "runtime and native", colour: dark ? oklch(0.4, 0.03, 30) : oklch(0.84, 0.03, 30) });
        if (kinds.has(KIND.kernel))
            items.push({ label: "kernel", colour: dark ? oklch(0.42, 0.06, 30) : oklch(0.83, 0.06, 30) });
        if (kinds.has(KIND.type))
            items.push({ label: "types", colour: dark ? oklch(0.48, 0.09, 175) : oklch(0.86, 0.08, 175) });
        return items;
    }
}
