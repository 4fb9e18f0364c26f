/* Paints the boxes of a tree and their labels with a pen, and keeps a record of what it painted for who asks. What is where says
 * layout.ts. Needs no DOM but the pen. */
import { Brush, ROUNDED, ROW } from "./brush";
import { Labels } from "./labels";
import type { Tree } from "./tree";

const WITH_TEXT = 34;

export interface Look {
    colourOf: (node: number) => string;
    signOf?: ((node: number) => number) | undefined; // of a comparison: 1 grew, -1 shrank
    rootLabel: string;
}

export interface Style {
    text: string;
    match: string;
    matchText: string;
    root: string;
    outline: string;
    hatch: string;
}

export interface Scene {
    tree: Tree;
    look: Look;
    style: Style;
    zoomed: number;
    isMatch: ((frame: number) => boolean) | null;
}

/* A box as the pen drew it. */
export interface PaintedBox {
    node: number;
    level: number;
    x: number; // pixels of the canvas
    y: number;
    width: number;
    colour: string; // "#rrggbb", or as the style sheet says it
    label: string; // "": none
}

export class Painter {
    record: PaintedBox[] | null = null; // of the last drawing, where somebody put an array here
    readonly labels: Labels;
    readonly #context: CanvasRenderingContext2D;
    readonly #brush: Brush;
    #scene: Scene | null = null;

    constructor(context: CanvasRenderingContext2D) {
        this.#context = context;
        this.labels = new Labels(context);
        this.#brush = new Brush(context);
    }

    begin(scene: Scene): void {
        this.#scene = scene;
        this.labels.prepare();
        this.#brush.begin();
        if (this.record)
            this.record.length = 0;
    }

    box(node: number, x: number, y: number, width: number): void {
        const { tree, look, style, zoomed, isMatch } = this.#scene!;
        const frame = tree.frame[node]!;
        const matches = isMatch !== null && frame >= 0 && isMatch(frame);
        const isAside = (isMatch !== null && !matches) || tree.level[node]! < tree.level[zoomed]!;
        const colour = this.#brush.box(matches ? style.match : frame < 0 ? style.root : look.colourOf(node), isAside, x, y, width);
        const sign = frame >= 0 ? (look.signOf?.(node) ?? 0) : 0;
        if (sign < 0 && width > ROUNDED)
            this.#brush.hatch(style.hatch, x, y, width);
        const label = width >= WITH_TEXT ? this.#write(frame, sign, x + 5, y + ROW / 2 + 0.5, width - 9, matches ? style.matchText : style.text) : "";
        this.record?.push({ node, level: tree.level[node]!, x, y, width, colour, label });
    }

    /* After the last box. */
    end(): void {
        this.#brush.drawNarrow();
        this.#scene = null;
    }

    #write(frame: number, sign: number, x: number, y: number, room: number, colour: string): string {
        const mark = sign > 0 ? "+ " : sign < 0 ? "− " : "";
        const text = frame < 0 ? this.labels.fitText(this.#scene!.look.rootLabel, room) : this.labels.fit(frame, mark ? room - 12 : room);
        if (!text)
            return "";
        this.#brush.setFill(colour);
        this.#context.fillText(mark + text, x, y, room);
        return mark + text;
    }
}
