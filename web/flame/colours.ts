/* What colour a frame has. It depends on the frame's own names only, so that it is the same in every view, in the report, and for
 * whoever opens a copied link: the reader's own code is bright and of one hue, its module or namespace gives the shade; that of the
 * framework is pale, its module or namespace gives the hue; the runtime is grey. In a comparison red grew and blue shrank; by waiting, amber waits and green runs. Text on any of them has a contrast of
 * at least 4.5 (colours.test.ts). */
import { FRAMEWORK, KIND, type Words } from "./profile";

export type ColourBy = "module" | "space" | "waiting";

export interface LegendItem {
    label: string;
    colour: string;
}

const OWN_HUE = 52; // orange
const OWN_SHADES = 5;
const FRAMEWORK_HUES = [255, 225, 285, 200];
const LEGEND_GROUPS = 6;

/* Lightness and chroma, light theme then dark. */
const TONES = {
    own: [[0.82, 0.1], [0.45, 0.095]],
    framework: [[0.91, 0.022], [0.37, 0.028]],
    type: [[0.86, 0.08], [0.45, 0.085]],
    process: [[0.8, 0.025], [0.44, 0.02]],
    kernel: [[0.83, 0.06], [0.41, 0.06]],
    runtime: [[0.84, 0.03], [0.39, 0.03]],
    native: [[0.87, 0.012], [0.37, 0.012]],
} as const;

export function hash(text: string): number {
    let value = 2166136261;
    for (let i = 0; i < text.length && i < 256; i++)
        value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return value >>> 0;
}

function oklch(lightness: number, chroma: number, hue: number): string {
    return `oklch(${lightness.toFixed(3)} ${chroma.toFixed(3)} ${hue})`;
}

/* "#rrggbb" of an oklch colour; others as they are. The way is that of its inventor, Björn Ottosson. */
export function toHex(colour: string): string {
    const found = /^oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)$/.exec(colour);
    if (!found)
        return colour;
    const [lightness, chroma, hue] = [Number(found[1]), Number(found[2]), (Number(found[3]) * Math.PI) / 180];
    const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const part = (linear: number) => {
        const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
        return Math.round(255 * Math.max(0, Math.min(1, value))).toString(16).padStart(2, "0");
    };
    return `#${part(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)}${part(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)}` +
        part(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
}

export class Colours {
    readonly #cache: string[] = [];
    readonly #changes: string[] = [];
    readonly #waits: string[] = [];
    readonly #ranked = new Set<number>(); // groups in the legend's order

    /* `totals`: of every frame, to order the legend. `before`: what is in it stays where it is, while a profile grows. */
    constructor(readonly words: Words, totals: Float64Array, readonly by: ColourBy, readonly isDark: boolean, before?: Colours | null) {
        if (before && before.by === by && before.words === words)
            before.#ranked.forEach((group) => this.#ranked.add(group));
        const weights = new Map<number, number>();
        for (let f = 0; f < totals.length; f++) {
            if (this.isOwn(f))
                weights.set(this.#groupOf(f), Math.max(weights.get(this.#groupOf(f)) ?? 0, totals[f]!));
        }
        const heaviestFirst = [...weights.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
        heaviestFirst.forEach(([group]) => this.#ranked.add(group));
    }

    #groupOf(frame: number): number {
        const { module, space } = this.words.frames;
        return this.by === "space" ? space[frame]! : module[frame]!;
    }

    #groupName(group: number): string {
        return (this.by === "space" ? this.words.spaces : this.words.modules)[group] ?? "";
    }

    isOwn(frame: number): boolean {
        const { kind, flags } = this.words.frames;
        return kind[frame] === KIND.managed && !(flags[frame]! & FRAMEWORK);
    }

    of(frame: number): string {
        return (this.#cache[frame] ??= this.#mix(frame));
    }

    #tone(name: keyof typeof TONES, jitter: number, hue: number): string {
        const [lightness, chroma] = TONES[name][this.isDark ? 1 : 0];
        return oklch(lightness + jitter, chroma, hue);
    }

    #ownColour(group: number, jitter: number): string {
        const shade = (hash(this.#groupName(group)) % OWN_SHADES) / (OWN_SHADES - 1) - 0.5;
        return this.#tone("own", shade * (this.isDark ? 0.05 : 0.08) + jitter / 2, OWN_HUE);
    }

    #mix(frame: number): string {
        const frames = this.words.frames;
        const jitter = ((hash(frames.name[frame]!) % 64) / 63 - 0.5) * (this.isDark ? 0.05 : 0.06);
        switch (frames.kind[frame]) {
        case KIND.type:
            return this.#tone("type", jitter, 175);
        case KIND.process:
            return this.#tone("process", jitter, 255);
        case KIND.kernel:
            return this.#tone("kernel", jitter, 30);
        case KIND.runtime:
            return this.#tone("runtime", jitter, 30);
        case KIND.native:
            return this.#tone("native", jitter, 80);
        default:
            break;
        }
        if (this.isOwn(frame))
            return this.#ownColour(this.#groupOf(frame), jitter);
        return this.#tone("framework", jitter, FRAMEWORK_HUES[hash(this.#groupName(this.#groupOf(frame))) % FRAMEWORK_HUES.length]!);
    }

    /* `change`: -1 (gone) to 1 (new), weighed by what it matters. */
    ofChange(change: number): string {
        const step = Math.round(Math.max(-1, Math.min(1, change)) * 32);
        return (this.#changes[step + 32] ??= this.#mixChange(step / 32));
    }

    #mixChange(change: number): string {
        const strength = Math.abs(change);
        const hue = change > 0 ? 25 : 255;
        if (this.isDark)
            return oklch(0.34 + 0.13 * strength, 0.005 + 0.155 * strength, hue);
        return oklch(0.93 - 0.22 * strength, 0.004 + 0.146 * strength, hue);
    }

    /* `share` of a node's time that waited: 0 to 1. */
    ofWaiting(share: number): string {
        const step = Math.round(Math.max(0, Math.min(1, share)) * 32);
        return (this.#waits[step] ??= this.#mixWaiting(step / 32));
    }

    #mixWaiting(share: number): string {
        const hue = 155 + (75 - 155) * share;
        const chroma = 0.04 + 0.045 * Math.abs(2 * share - 1) + 0.03 * share;
        return this.isDark ? oklch(0.43, chroma * 0.9, hue) : oklch(0.87, chroma, hue);
    }

    legend(): LegendItem[] {
        if (this.by === "waiting")
            return [0, 0.5, 1].map((share, i) => ({ label: ["runs", "half and half", "waits"][i]!, colour: this.ofWaiting(share) }));
        const items = [...this.#ranked].slice(0, LEGEND_GROUPS).map((group) => ({
            label: this.#groupName(group) || (this.by === "module" ? "no module" : "no namespace"),
            colour: this.#ownColour(group, 0),
        }));
        const kinds = new Set(this.words.frames.kind);
        if (this.#ranked.size > LEGEND_GROUPS)
            items.push({ label: `${this.#ranked.size - LEGEND_GROUPS} more`, colour: "transparent" });
        items.push({ label: "framework", colour: this.#tone("framework", 0, 255) });
        if (kinds.has(KIND.native) || kinds.has(KIND.runtime))
            items.push({ label: "runtime and native", colour: this.#tone("runtime", 0, 30) });
        if (kinds.has(KIND.kernel))
            items.push({ label: "kernel", colour: this.#tone("kernel", 0, 30) });
        if (kinds.has(KIND.type))
            items.push({ label: "types", colour: this.#tone("type", 0, 175) });
        return items;
    }

    changeLegend(): LegendItem[] {
        return [-1, -0.5, 0, 0.5, 1].map((change, i) => ({ label: ["shrank", "", "same", "", "grew"][i]!, colour: this.ofChange(change) }));
    }
}
