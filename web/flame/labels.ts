/* The words in boxes: names as they may be shown, measured once, cut to the room there is. */
import { shortName, type Words } from "./profile";
import { shorten, visible } from "./text";

const LABEL_MAX = 240;
const FONT_SIZE = 12;

export class Labels {
    #words: Words | null = null;
    #font = "";
    #full: string[] = [];
    #short: string[] = [];
    #fullWidth: number[] = [];
    #shortWidth: number[] = [];
    readonly #texts = new Map<string, number>();

    constructor(readonly context: CanvasRenderingContext2D) {}

    use(words: Words): void {
        if (words === this.#words)
            return;
        this.#words = words;
        this.#forget();
    }

    setFont(family: string): void {
        const font = `${FONT_SIZE}px ${family}`;
        if (font !== this.#font)
            this.#forget();
        this.#font = font;
    }

    #forget(): void {
        this.#full = [];
        this.#short = [];
        this.#fullWidth = [];
        this.#shortWidth = [];
        this.#texts.clear();
    }

    /* The pen forgets when its canvas changes its size. */
    prepare(): void {
        this.context.font = this.#font;
        this.context.textBaseline = "middle";
        this.context.direction = "ltr";
    }

    #measure(frame: number): void {
        const words = this.#words!;
        const full = visible(shorten(words.frames.name[frame] ?? "", LABEL_MAX));
        const short = visible(shorten(shortName(words, frame), LABEL_MAX));
        this.#full[frame] = full;
        this.#short[frame] = short;
        this.#fullWidth[frame] = this.context.measureText(full).width;
        this.#shortWidth[frame] = short === full ? this.#fullWidth[frame] : this.context.measureText(short).width;
    }

    /* The whole name, without its namespace where there is little room, or as much of that as fits. */
    fit(frame: number, room: number): string {
        if (this.#full[frame] === undefined)
            this.#measure(frame);
        if (this.#fullWidth[frame]! <= room)
            return this.#full[frame]!;
        const width = this.#shortWidth[frame]!;
        return width <= room ? this.#short[frame]! : this.#cut(this.#short[frame]!, width, room);
    }

    fitText(text: string, room: number): string {
        let width = this.#texts.get(text);
        if (width === undefined) {
            if (this.#texts.size > 500)
                this.#texts.clear();
            width = this.context.measureText(text).width;
            this.#texts.set(text, width);
        }
        return width <= room ? text : this.#cut(text, width, room);
    }

    /* By the mean width of its letters: measuring each cut would cost more than drawing it, and the pen squeezes the rest. */
    #cut(text: string, width: number, room: number): string {
        const length = Math.floor((text.length * (room - 8)) / width);
        return length >= 2 ? `${text.slice(0, length)}…` : "";
    }
}
