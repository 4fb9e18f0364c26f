/* A call tree as the controller sends it, by rows: the first answer whole, later ones only what changed
 * (docs/formats/flame-graph-json.md). Ids of frames and nodes are the controller's; here each has a place in columns. Nothing that
 * comes is trusted: rows that make no sense are left out. No DOM in here. */
import { Calls, FRAMEWORK, KIND, KIND_LABELS, type Frames, type Weights, type Words } from "./profile";

export type FrameRow = [id: number, name: string, module: string, kind: string, flags?: number, source?: string];
export type NodeRow = [id: number, parent: number, frame: number, self: number, total: number];

export interface RowsAnswer {
    version: number;
    since: number;
    unit: string;
    total: number;
    durationSeconds: number;
    lost: number;
    complete: boolean;
    frames: readonly FrameRow[];
    nodes: readonly NodeRow[];
}

const ID_MAX = 1 << 25;

class Wordlist {
    readonly list: string[] = [];
    readonly #places = new Map<string, number>();

    place(word: string): number {
        let at = this.#places.get(word);
        if (at === undefined) {
            at = this.list.length;
            this.list.push(word);
            this.#places.set(word, at);
        }
        return at;
    }
}

/* "Shop.Pricing.Discount.Apply(int)": Shop.Pricing. */
export function namespaceOf(name: string): string {
    const bare = name.replace(/[(<[+].*$/s, "").replace(/\.\.c?ctor$/, ".ctor");
    const parts = bare.split(".");
    return parts.length > 2 ? parts.slice(0, -2).join(".") : "";
}

const FRAMEWORK_MODULE = /^(System|Microsoft|Windows|Interop)(\.|$)|^(mscorlib|netstandard|WindowsBase|UnknownModule)\b|^Anonymously Hosted/;

/* Not of the program itself: told by the name of a module, or of a method where its module is not known. */
export function isFramework(module: string | undefined): boolean {
    return !module || FRAMEWORK_MODULE.test(module) || /\.so(\.|$)/.test(module);
}

/* Frames by what they are, not by line, so that two recordings, or two states of one, mean the same by a number. It only grows. */
export class FrameTable implements Words {
    readonly frames: Frames & { source: string[] } = { name: [], module: [], space: [], kind: [], flags: [], source: [] };
    readonly sources = new Wordlist(); // "Orders.cs:42"; the first is ""
    readonly #modules = new Wordlist();
    readonly #spaces = new Wordlist();
    readonly #keys = new Wordlist();

    constructor() {
        this.sources.place("");
    }

    get modules(): string[] {
        return this.#modules.list;
    }

    get spaces(): string[] {
        return this.#spaces.list;
    }

    place(row: FrameRow): number {
        const name = String(row[1] ?? "");
        const module = String(row[2] ?? "");
        const kind = Math.max(0, KIND_LABELS.indexOf(row[3] as (typeof KIND_LABELS)[number]));
        const at = this.#keys.place(JSON.stringify([name, module, kind]));
        if (at < this.frames.name.length)
            return at;
        const isManaged = kind === KIND.managed;
        this.frames.name.push(name);
        this.frames.module.push(this.#modules.place(module));
        this.frames.space.push(this.#spaces.place(isManaged ? namespaceOf(name) : ""));
        this.frames.kind.push(kind);
        this.frames.source.push(""); // known when lines are weighed
        this.frames.flags.push(typeof row[4] === "number" ? row[4] : isManaged && isFramework(module || name) ? FRAMEWORK : 0);
        return at;
    }

    /* A frame by name, and by module where that is known. */
    find(name: string, module?: string): number {
        const { frames } = this;
        return frames.name.findIndex((one, f) => one === name && (module === undefined || this.modules[frames.module[f]!] === module));
    }
}

/* From an id to a place; -1: none. */
class Places {
    #data = new Int32Array(1024).fill(-1);

    get(id: number): number {
        return this.#data[id] ?? -1;
    }

    set(id: number, place: number): void {
        if (id >= this.#data.length) {
            const larger = new Int32Array(Math.max(id + 1, this.#data.length * 2)).fill(-1);
            larger.set(this.#data);
            this.#data = larger;
        }
        this.#data[id] = place;
    }
}

const isId = (id: unknown): id is number => Number.isInteger(id) && (id as number) >= 0 && (id as number) < ID_MAX;

export class Rows {
    version = 0;
    unit = "count";
    durationSeconds = 0;
    lost = 0;
    isComplete = false;
    epoch = 0; // counts up when everything is numbered anew
    #nodes = new Places();
    #frames = new Places();
    #sources = new Places(); // of frames
    #parent = new Int32Array(1024);
    #frame = new Int32Array(1024); // ids: what a frame is may be known better later
    #self = new Float64Array(1024);
    #total = new Float64Array(1024);
    #count = 0;
    #calls: Calls | null = null;
    #weights: Weights | null = null;

    constructor(readonly table: FrameTable) {}

    get nodeCount(): number {
        return this.#count;
    }

    /* Adds an answer to what is here. false: it does not continue it, all is to be asked for anew. */
    take(answer: RowsAnswer): boolean {
        if (answer.since !== 0 && answer.since !== this.version)
            return false;
        if (answer.since === 0)
            this.#forget();
        for (const row of answer.frames)
            this.#takeFrame(row);
        this.#room(this.#count + answer.nodes.length);
        for (const row of answer.nodes)
            this.#takeNode(row);
        this.version = answer.version;
        this.unit = answer.unit === "nanoseconds" ? "ns" : answer.unit;
        this.durationSeconds = answer.durationSeconds;
        this.lost = answer.lost;
        this.isComplete = answer.complete;
        this.#weights = null;
        return true;
    }

    #takeFrame(row: FrameRow): void {
        if (!isId(row[0]))
            return;
        this.#frames.set(row[0], this.table.place(row));
        this.#sources.set(row[0], this.table.sources.place(String(row[5] ?? "")));
        this.#calls = null;
    }

    #forget(): void {
        this.epoch++;
        this.#nodes = new Places();
        this.#frames = new Places();
        this.#sources = new Places();
        this.#count = 0;
        this.#calls = null;
    }

    #room(size: number): void {
        if (size <= this.#parent.length)
            return;
        const grown = <T extends Int32Array | Float64Array>(old: T, larger: T): T => {
            larger.set(old as never);
            return larger;
        };
        const length = Math.max(size, this.#parent.length * 2);
        this.#parent = grown(this.#parent, new Int32Array(length));
        this.#frame = grown(this.#frame, new Int32Array(length));
        this.#self = grown(this.#self, new Float64Array(length));
        this.#total = grown(this.#total, new Float64Array(length));
    }

    #takeNode(row: NodeRow): void {
        const id = row[0];
        if (!isId(id))
            return;
        let at = this.#nodes.get(id);
        if (at < 0) {
            const isRoot = id === 0;
            const parent = isRoot ? 0 : this.#nodes.get(row[1]);
            const isKnown = isRoot || (isId(row[2]) && this.#frames.get(row[2]) >= 0);
            if (!isKnown || parent < 0 || (!isRoot && this.#count === 0))
                return;
            at = this.#count++;
            this.#nodes.set(id, at);
            this.#parent[at] = parent;
            this.#frame[at] = isRoot ? 0 : row[2];
            this.#calls = null;
        }
        this.#self[at] = Number(row[3]) || 0;
        this.#total[at] = Number(row[4]) || 0;
    }

    calls(): Calls {
        if (this.#calls)
            return this.#calls;
        const count = Math.max(1, this.#count);
        const frame = new Int32Array(count);
        frame[0] = -1;
        for (let n = 1; n < count; n++)
            frame[n] = this.#frames.get(this.#frame[n]!);
        return (this.#calls = new Calls(this.table, this.#parent.slice(0, count), frame));
    }

    /* Where in its source a method spent something: lines by what was spent in and below each, heaviest first. */
    linesOf(frame: number): { source: string; self: number; total: number }[] {
        const calls = this.calls();
        const lines = new Map<number, { source: string; self: number; total: number }>();
        calls.walk((node, isOutermost) => {
            const source = calls.frame[node] === frame ? this.#sources.get(this.#frame[node]!) : 0;
            if (source <= 0)
                return;
            const line = lines.get(source) ?? { source: this.table.sources.list[source]!, self: 0, total: 0 };
            lines.set(source, line);
            line.self += this.#self[node]!;
            line.total += isOutermost ? this.#total[node]! : 0;
        });
        return [...lines.values()].sort((a, b) => b.total - a.total || b.self - a.self);
    }

    /* Gives each method of the table the line that is heaviest here. */
    placeSources(): void {
        const calls = this.calls();
        const most = new Map<number, { source: number; total: number }>();
        const lines = new Map<number, number>(); // of frames as the controller numbers them: one a line
        calls.walk((node, isOutermost) => {
            const id = this.#frame[node]!;
            if (node === 0 || this.#sources.get(id) <= 0)
                return;
            const total = (lines.get(id) ?? 0) + (isOutermost ? this.#total[node]! : 0);
            lines.set(id, total);
            const frame = calls.frame[node]!;
            if (total >= (most.get(frame)?.total ?? 0))
                most.set(frame, { source: this.#sources.get(id), total });
        });
        for (const [frame, { source }] of most)
            this.table.frames.source[frame] = this.table.sources.list[source]!;
    }

    /* As of now: later answers do not change them. */
    weights(): Weights {
        const count = Math.max(1, this.#count);
        return (this.#weights ??= { self: this.#self.slice(0, count), total: this.#total.slice(0, count) });
    }
}

/* What came since: `then` is an earlier state of the same rows. */
export function since(now: Weights, then: Weights): Weights {
    const less = (values: Float64Array, old: Float64Array) => {
        const rest = Float64Array.from(values);
        for (let n = 0; n < old.length; n++)
            rest[n] = Math.max(0, rest[n]! - old[n]!);
        return rest;
    };
    return { self: less(now.self, then.self), total: less(now.total, then.total) };
}
