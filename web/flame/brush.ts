/* Fills boxes of a flame graph, with as little work for the pen as possible: thousands of them may be in sight. */
import { toHex } from "./colours";
import { NARROWEST } from "./layout";

export const ROW = 20; // pixels a level
export const ROUNDED = 12;
export const RADIUS = 2.5;
const ASIDE = 0.45; // how clear boxes are that a search or zoom is not about

export class Brush {
    readonly #context: CanvasRenderingContext2D;
    readonly #hexes = new Map<string, string>();
    readonly #narrow: [Map<string, number[]>, Map<string, number[]>] = [new Map(), new Map()]; // clear ones and those aside
    #fill = "";

    constructor(context: CanvasRenderingContext2D) {
        this.#context = context;
    }

    /* Before a drawing: others may have used the pen. */
    begin(): void {
        this.#fill = "";
    }

    setFill(colour: string): void {
        if (colour !== this.#fill)
            this.#context.fillStyle = this.#fill = colour;
    }

    /* Narrow ones are drawn by drawNarrow. Returns the colour as the pen gets it. */
    box(colour: string, isAside: boolean, x: number, y: number, width: number): string {
        const hex = this.#hexOf(colour);
        if (width <= ROUNDED) {
            this.#addNarrow(hex, isAside, x, y, width);
            return hex;
        }
        this.#context.globalAlpha = isAside ? ASIDE : 1;
        this.setFill(hex);
        this.#context.beginPath();
        this.#context.roundRect(x + 0.5, y + 0.5, width - 1, ROW - 1, RADIUS);
        this.#context.fill();
        this.#context.globalAlpha = 1;
        return hex;
    }

    /* Those of one colour one after the other. */
    drawNarrow(): void {
        for (const [at, boxes] of this.#narrow.entries()) {
            this.#context.globalAlpha = at === 1 ? ASIDE : 1;
            for (const [colour, list] of boxes) {
                this.setFill(colour);
                for (let i = 0; i < list.length; i += 3) {
                    const width = list[i + 2]!;
                    this.#context.fillRect(list[i]!, list[i + 1]! + 0.5, Math.max(width - (width > 2 ? 0.5 : 0), NARROWEST), ROW - 1);
                }
            }
            boxes.clear();
        }
        this.#context.globalAlpha = 1;
    }

    /* Shrank is not only blue: lines across it. */
    hatch(colour: string, x: number, y: number, width: number): void {
        const context = this.#context;
        context.save();
        context.beginPath();
        context.rect(x + 0.5, y + 0.5, width - 1, ROW - 1);
        context.clip();
        context.strokeStyle = colour;
        context.lineWidth = 1;
        context.beginPath();
        for (let at = Math.floor(x / 8) * 8 - ROW; at < x + width; at += 8) {
            context.moveTo(at, y + ROW);
            context.lineTo(at + ROW, y);
        }
        context.stroke();
        context.restore();
        this.#fill = "";
    }

    /* Pens read "#rrggbb" much faster than other colours. */
    #hexOf(colour: string): string {
        let hex = this.#hexes.get(colour);
        if (hex === undefined)
            this.#hexes.set(colour, (hex = toHex(colour)));
        return hex;
    }

    #addNarrow(colour: string, isAside: boolean, x: number, y: number, width: number): void {
        const boxes = this.#narrow[isAside ? 1 : 0];
        const list = boxes.get(colour);
        if (list)
            list.push(x, y, width);
        else
            boxes.set(colour, [x, y, width]);
    }
}
