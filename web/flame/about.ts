/* What is known about a frame, in words that may be shown; and which frames a search finds. */
import { KIND_LABELS, shortName, type Words } from "./profile";
import { shorten, visible } from "./text";

const NAME_MAX = 400;

export interface About {
    name: string;
    short: string;
    space: string;
    detail: string;
    module: string;
    kind: string;
    source: string;
}

export function nameForPeople(text: string | null | undefined): string {
    return text ? visible(shorten(text, NAME_MAX)) : "";
}

export function aboutFrame(words: Words, frame: number): About {
    const frames = words.frames;
    return {
        name: nameForPeople(frames.name[frame]),
        short: nameForPeople(shortName(words, frame)),
        space: nameForPeople(words.spaces[frames.space[frame]!]),
        detail: nameForPeople(frames.detail?.[frame]),
        module: nameForPeople(words.modules[frames.module[frame]!]),
        kind: KIND_LABELS[frames.kind[frame]!] ?? "",
        source: nameForPeople(frames.source?.[frame]),
    };
}

export type Matcher = (frame: number) => boolean;

/* null: there is nothing to search for, or (`isBad`) it is not a regular expression. */
export function matcherOf(words: Words, text: string, isRegex = false): { isBad: boolean; matcher: Matcher | null } {
    if (!text)
        return { isBad: false, matcher: null };
    const wanted = text.toLowerCase();
    let test = (name: string) => name.toLowerCase().includes(wanted);
    if (isRegex) {
        try {
            const pattern = new RegExp(text, "i");
            test = (name) => pattern.test(name);
        } catch {
            return { isBad: true, matcher: null };
        }
    }
    const known = new Map<number, boolean>(); // a frame occurs in many nodes
    const matcher = (frame: number) => {
        let found = known.get(frame);
        if (found === undefined) {
            found = test(words.frames.name[frame] ?? "");
            known.set(frame, found);
        }
        return found;
    };
    return { isBad: false, matcher };
}

/* A tip near the pointer, inside of the window. */
export function placeTip(tip: HTMLElement, x: number, y: number): void {
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 14, document.documentElement.clientWidth - box.width - 8);
    const isBelow = y + 18 + box.height < innerHeight - 4;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(4, isBelow ? y + 18 : y - box.height - 12)}px`;
}
