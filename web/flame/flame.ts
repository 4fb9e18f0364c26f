/* The flame graph of an HTML report, in an element of its page.
 *
 *   const graph = new FlameGraph(element, data, { view: 0 });
 *
 * `data.profiles` is a list of profiles (profile.ts says what one is); all their views are in one selector. Names are only ever
 * put into the page as text. */
import { aboutFrame, matcherOf, nameForPeople, placeTip, type About, type Matcher } from "./about";
import { FlameCanvas, type Look } from "./canvas";
import { changeOf, changeText, strengthOf, type Change } from "./change";
import { Colours, type ColourBy } from "./colours";
import { Controls, type Order } from "./controls";
import { copyText, make } from "./dom";
import { Gestures } from "./gestures";
import { fillMethods } from "./methods";
import { KIND, Profile, type ProfileData, type View, type Weights } from "./profile";
import { formatPercent, formatValue, shorten, visible } from "./text";
import type { Tree } from "./tree";
import { calleeTree, callerTree } from "./unfold";

/* A place that outlives the tree: frames from the outside in. */
interface Place {
    order: Order;
    focus: number;
    path: number[];
}

export interface NodeAbout extends Partial<About> {
    name: string;
    node: number;
    frame: number;
    self: number;
    total: number;
    base: number;
    selfText: string;
    selfPercent: string;
    totalText: string;
    totalPercent: string;
    hasSelf: boolean;
    sentence: string;
}

export class FlameGraph {
    readonly profiles: Profile[];
    readonly views: (View & { profile: number; column: number })[];
    readonly canvas: FlameCanvas;
    readonly scroller: HTMLElement;
    readonly legend: HTMLElement;
    thread = -1;
    order: Order = "callees";
    focusFrame = -1;
    markedFrame = -1;
    history: Place[] = [];
    sort = "self";
    colourBy: ColourBy = "module";
    tree!: Tree;
    colours!: Colours;
    #viewIndex = -1;
    #frameSums!: Weights;
    #weights!: Weights;
    #base: Weights | null = null;
    #baseSums: Weights | null = null;
    #query = { text: "", isRegex: false };
    #matcher: Matcher | null = null;
    readonly #controls: Controls;
    readonly #gestures: Gestures;
    readonly #darkness = matchMedia("(prefers-color-scheme: dark)");
    readonly #onDarkness = () => this.#recolour();

    constructor(readonly element: HTMLElement, data: { profiles: ProfileData[] }, options: { view?: number } = {}) {
        this.profiles = data.profiles.map((profile) => new Profile(profile));
        this.views = this.profiles.flatMap((profile, p) => profile.views.map((view, column) => ({ ...view, profile: p, column })));
        this.#darkness.addEventListener("change", this.#onDarkness);
        this.#controls = this.#makeControls();
        this.scroller = this.#controls.scroller;
        this.legend = this.#controls.legend;
        this.canvas = new FlameCanvas(this.scroller, this.#controls.spacer, this.#controls.drawing);
        this.#gestures = new Gestures(this.canvas, {
            hover: (node, x, y) => this.#hover(node, x, y),
            select: (node) => this.select(node),
            zoom: (node) => this.zoomTo(node),
            back: () => (this.history.length ? this.back() : this.select(-1)),
            search: () => this.#controls.searchBox.focus(),
            moved: () => this.#afterZoom(),
            key: (key) => this.#onKey(key),
        });
        (element as HTMLElement & { flameGraph?: FlameGraph }).flameGraph = this;
        this.setView(options.view ?? 0);
    }

    destroy(): void {
        this.#darkness.removeEventListener("change", this.#onDarkness);
        this.#gestures.destroy();
        this.canvas.destroy();
        this.element.replaceChildren();
    }

    /* --- what is shown --- */

    get view(): View & { profile: number; column: number } {
        return this.views[this.#viewIndex]!;
    }

    get profile(): Profile {
        return this.profiles[this.view.profile]!;
    }

    setView(index: number): void {
        const isSameProfile = this.#viewIndex >= 0 && this.views[index]!.profile === this.view.profile;
        const place = isSameProfile ? this.#place() : { order: this.order, focus: -1, path: [] };
        this.#viewIndex = index;
        if (!isSameProfile) {
            this.thread = -1;
            this.history = [];
            this.markedFrame = -1;
            this.sort = this.profile.isDiff ? "change" : "self";
        }
        this.#controls.viewSelect.value = String(index);
        this.#weigh();
        this.#fillThreads();
        this.#fillProcesses();
        this.#goTo(place);
    }

    setThread(index: number): void {
        const place = this.#place();
        this.thread = index;
        this.#controls.threadSelect.value = String(index);
        this.#weigh();
        this.#goTo(place);
    }

    /* One process with all its stacks; -1: all of them. */
    setProcess(frame: number): void {
        this.focus(frame, "callees");
    }

    /* "callees": who calls whom. "callers": bottom up, from where it was spent. */
    setOrder(order: Order): void {
        if (order === this.order && this.focusFrame < 0)
            return;
        this.focus(-1, order);
    }

    /* One method with all its callers or callees, wherever in the tree they are. */
    focus(frame: number, order: Order): void {
        this.#remember();
        this.#goTo({ order, focus: frame, path: [] });
    }

    setColours(by: ColourBy): void {
        this.colourBy = by;
        this.#recolour();
    }

    setDirection(isFlame: boolean): void {
        this.#controls.directionButton.setAttribute("aria-pressed", String(isFlame));
        this.canvas.setDirection(isFlame ? "flame" : "icicle");
    }

    zoomTo(node: number): void {
        if (node === this.canvas.zoomed)
            return;
        this.#remember();
        this.canvas.zoomTo(node);
        this.#afterZoom();
    }

    back(): void {
        const place = this.history.pop();
        if (place)
            this.#goTo(place, true);
    }

    reset(): void {
        this.history = [];
        this.search("");
        this.#controls.searchBox.value = "";
        this.select(-1);
        this.#goTo({ order: "callees", focus: -1, path: [] }, true);
    }

    /* Returns how much of the view is in or below matching frames, or null if there is no search. */
    search(text: string, isRegex = this.#query.isRegex): number | null {
        this.#query = { text, isRegex };
        this.markedFrame = -1;
        return this.#applySearch();
    }

    select(node: number): void {
        this.canvas.selected = node;
        this.canvas.drawOutlines();
        this.#showDetail();
        if (node >= 0)
            this.#controls.announce(this.describe(node).sentence);
    }

    /* Everything known about a node of the tree that is shown. */
    describe(node: number): NodeAbout {
        const tree = this.tree;
        const frame = tree.frame[node]!;
        const about = frame < 0 ? { name: this.#rootName(), module: "" } : aboutFrame(this.profile.words, frame);
        const [self, total, whole] = [tree.self[node]!, tree.total[node]!, tree.total[0]!];
        const text = (value: number) => formatValue(value, this.view.unit);
        return {
            ...about, node, frame, self, total, base: tree.base[node] ?? 0,
            selfText: text(self), selfPercent: formatPercent(self, whole),
            totalText: text(total), totalPercent: formatPercent(total, whole),
            hasSelf: frame >= 0 && (this.order === "callees" || (tree.level[node] === 1 && this.focusFrame < 0)),
            sentence: `${about.name}${about.module ? ` in ${about.module}` : ""}: total ${text(total)}, ` +
                `${formatPercent(total, whole)}; level ${tree.level[node]}`,
        };
    }

    /* From the caller to the callee, one a line. */
    stackOf(node: number): string {
        const names = this.tree.framesTo(node).map((frame) => visible(this.profile.frames.name[frame]!));
        return (this.order === "callers" ? names.reverse() : names).join("\n");
    }

    async copyStack(node = this.canvas.selected): Promise<void> {
        if (node <= 0)
            return;
        await copyText(this.stackOf(node));
        this.#controls.announce("Stack copied.");
        this.#controls.copyButton.textContent = "Copied";
        setTimeout(() => { this.#controls.copyButton.textContent = "Copy stack"; }, 1500);
    }

    /* --- inside: data --- */

    #weigh(): void {
        const profile = this.profile;
        this.#weights = profile.weigh(this.view.column, this.thread);
        this.#base = profile.isDiff ? profile.weigh(1 - this.view.column, this.thread) : null;
        this.#frameSums = profile.sumByFrame(this.#weights);
        this.#baseSums = this.#base && profile.sumByFrame(this.#base);
        this.#mixColours();
    }

    #mixColours(): void {
        this.colours = new Colours(this.profile.words, this.#frameSums.total, this.colourBy, this.#darkness.matches);
    }

    get #whole(): number {
        return Math.max(this.#weights.total[0]!, this.#base?.total[0] ?? 0);
    }

    #rootName(): string {
        if (this.focusFrame < 0)
            return this.view.label;
        const name = nameForPeople(this.profile.frames.name[this.focusFrame]);
        return this.order === "callers" ? `Callers of ${name}` : `${name} and what it calls`;
    }

    #build(): void {
        const grow = this.order === "callers" ? callerTree : calleeTree;
        this.tree = grow(this.profile, this.#weights, { base: this.#base, frame: this.focusFrame });
        this.canvas.show(this.tree, this.#look());
        this.#controls.empty.hidden = this.tree.count > 1;
    }

    #look(): Look {
        const total = formatValue(this.tree.total[0]!, this.view.unit);
        const strength = (node: number) => strengthOf(this.#changeOf(this.tree.total[node]!, this.tree.base[node]!),
            Math.max(this.tree.total[0]!, this.tree.base[0]!));
        const rootLabel = `${shorten(this.#rootName(), 120)}  ${total}`;
        if (!this.profile.isDiff)
            return { colourOf: (node) => this.colours.of(this.tree.frame[node]!), rootLabel };
        const signOf = (node: number) => { const value = strength(node); return value > 0.1 ? 1 : value < -0.1 ? -1 : 0; };
        return { colourOf: (node) => this.colours.ofChange(strength(node)), signOf, rootLabel };
    }

    /* Whichever of the two profiles gives the widths, the change is from before to after. */
    #changeOf(shown: number, other: number): Change {
        return this.view.column === 0 ? changeOf(other, shown) : changeOf(shown, other);
    }

    #recolour(): void {
        this.#mixColours();
        this.#fillLegend();
        this.canvas.restyle();
        this.canvas.draw();
    }

    #place(): Place {
        return { order: this.order, focus: this.focusFrame, path: this.tree.framesTo(this.canvas.zoomed) };
    }

    #remember(): void {
        this.history.push(this.#place());
    }

    #goTo(place: Place, isSameTree = false): void {
        const rebuild = !isSameTree || place.order !== this.order || place.focus !== this.focusFrame;
        this.order = place.order;
        this.focusFrame = place.focus;
        if (rebuild)
            this.#build();
        const node = this.tree.find(place.path);
        if (node !== this.canvas.zoomed || this.canvas.to - this.canvas.from !== this.tree.total[node])
            this.canvas.zoomTo(node);
        this.#fillLegend();
        this.#applySearch();
        this.#showDetail();
        this.#afterZoom();
    }

    /* --- inside: controls --- */

    #makeControls(): Controls {
        return new Controls(this.element, this.views.map((view) => view.label), {
            view: (index) => this.setView(index),
            thread: (index) => this.setThread(index),
            process: (frame) => this.setProcess(frame),
            order: (order) => this.setOrder(order),
            colours: (by) => this.setColours(by),
            direction: (isFlame) => this.setDirection(isFlame),
            back: () => this.back(),
            reset: () => this.reset(),
            search: (text) => this.search(text),
            toggleRegex: () => this.#toggleRegex(),
            copyStack: () => void this.copyStack(),
            focus: (order) => this.focus(this.#detailFrame(), order),
        });
    }

    #fillThreads(): void {
        const { rows, threads } = this.profile;
        const totals = new Float64Array(threads.length);
        if (totals.length)
            rows.values[this.view.column]!.forEach((value, i) => { totals[rows.thread[i]!]! += value; });
        const whole = totals.reduce((sum, value) => sum + value, 0);
        const order = [...totals.keys()].filter((t) => totals[t]! > 0 || t === this.thread).sort((a, b) => totals[b]! - totals[a]!);
        const options = order.map((t) => {
            const { id, name } = threads[t]!;
            const label = [name ? visible(shorten(name, 40)) : "thread", id].join(" ");
            return make("option", { value: t, text: `${label}  (${formatPercent(totals[t]!, whole)})` });
        });
        const { threadSelect, threadLabel } = this.#controls;
        threadSelect.replaceChildren(make("option", { value: -1, text: "All threads" }), ...options);
        threadSelect.value = String(this.thread);
        threadLabel.hidden = threads.length < 2;
    }

    /* Processes are frames at the root, where a recording has several. */
    #fillProcesses(): void {
        const { kind, name } = this.profile.frames;
        const totals = this.#frameSums.total;
        const found = [...kind.keys()].filter((f) => kind[f] === KIND.process && totals[f]! > 0).sort((a, b) => totals[b]! - totals[a]!);
        const whole = found.reduce((sum, frame) => sum + totals[frame]!, 0);
        const options = found.map((frame) => make("option", { value: frame,
            text: `${visible(shorten(name[frame]!, 40))}  (${formatPercent(totals[frame]!, whole)})` }));
        this.#controls.processSelect.replaceChildren(make("option", { value: -1, text: "All processes" }), ...options);
        this.#controls.processLabel.hidden = found.length < 2;
    }

    #fillLegend(): void {
        const { processSelect, colourLabel } = this.#controls;
        processSelect.value = String(this.focusFrame);
        if (processSelect.selectedIndex < 0)
            processSelect.value = "-1";
        colourLabel.hidden = this.profile.isDiff;
        const items = this.profile.isDiff ? this.colours.changeLegend() : this.colours.legend();
        this.legend.replaceChildren(...items.map(({ label, colour }) => {
            const swatch = make("i", { "aria-hidden": "true" });
            swatch.style.background = colour;
            return make("span", {}, swatch, visible(shorten(label, 60)));
        }));
    }

    #fillTable(): void {
        const whole = this.#whole;
        fillMethods(this.#controls.tableHead, this.#controls.tableBody, {
            words: this.profile.words, sums: this.#frameSums, baseSums: this.#baseSums, isAfter: this.view.column === 0, whole,
            unit: this.view.unit, sort: this.sort, marked: this.markedFrame, isShown: this.#matcher,
            colourOf: (frame, change) => (this.profile.isDiff ? this.colours.ofChange(change / (0.005 * whole)) : this.colours.of(frame)),
            onSort: (key) => { this.sort = key; this.#fillTable(); },
            onMark: (frame) => this.#mark(frame),
        });
    }

    /* A method of the table: all its places light up. */
    #mark(frame: number): void {
        this.markedFrame = this.markedFrame === frame ? -1 : frame;
        this.canvas.selected = -1;
        this.#applySearch();
        this.#showDetail();
    }

    #afterZoom(): void {
        const path = this.tree.pathTo(this.canvas.zoomed);
        const crumb = (node: number, text: string) => make("button", {
            type: "button", text: shorten(text, 60), title: shorten(text, 200), onclick: () => this.zoomTo(node),
            "aria-current": node === this.canvas.zoomed ? "location" : null,
        });
        const shown = path.length > 6 ? [...path.slice(0, 1), -1, ...path.slice(-4)] : path;
        const { crumbs, backButton, orderButtons } = this.#controls;
        crumbs.replaceChildren(crumb(0, this.#rootName()), ...shown.map((node) => (node < 0
            ? make("span", { text: `… ${path.length - 5} more …` }) : crumb(node, aboutFrame(this.profile.words, this.tree.frame[node]!).short))));
        crumbs.scrollLeft = crumbs.scrollWidth;
        backButton.disabled = this.history.length === 0;
        for (const [order, button] of orderButtons)
            button.setAttribute("aria-pressed", String(order === this.order && this.focusFrame < 0));
    }

    #detailFrame(): number {
        return this.canvas.selected >= 0 ? this.tree.frame[this.canvas.selected]! : this.markedFrame;
    }

    #showDetail(): void {
        const node = this.canvas.selected;
        const frame = this.#detailFrame();
        const { detailActions, copyButton, detailName, detailFacts } = this.#controls;
        detailActions.hidden = frame < 0;
        copyButton.hidden = node < 0;
        if (node >= 0) {
            const about = this.describe(node);
            detailName.textContent = about.name;
            detailFacts.textContent = this.#facts(about).join("  ·  ");
        } else if (frame >= 0) {
            const about = aboutFrame(this.profile.words, frame);
            const text = (value: number) => `${formatValue(value, this.view.unit)} (${formatPercent(value, this.#weights.total[0]!)})`;
            detailName.textContent = about.name;
            detailFacts.textContent = [about.module || about.kind, about.source, `self ${text(this.#frameSums.self[frame]!)}`,
                `total ${text(this.#frameSums.total[frame]!)}`].filter(Boolean).join("  ·  ");
        } else {
            detailName.textContent = "";
            detailFacts.textContent = "Click a frame to zoom in; Ctrl and the wheel zoom too. Arrow keys walk, Enter zooms, Escape goes back, / searches.";
        }
    }

    #facts(about: NodeAbout): string[] {
        const facts = [about.module || about.kind || "", about.source ?? "", `total ${about.totalText} (${about.totalPercent})`];
        if (about.hasSelf)
            facts.push(`self ${about.selfText} (${about.selfPercent})`);
        if (this.profile.isDiff)
            facts.push(changeText(this.#changeOf(about.total, about.base), this.view.unit));
        return facts.filter(Boolean);
    }

    /* --- inside: searching --- */

    #applySearch(): number | null {
        const isMarked = this.markedFrame >= 0;
        const { isBad, matcher } = isMarked ? { isBad: false, matcher: (frame: number) => frame === this.markedFrame }
            : matcherOf(this.profile.words, this.#query.text, this.#query.isRegex);
        this.canvas.isMatch = matcher;
        this.#matcher = isMarked ? null : matcher;
        const sum = matcher ? this.tree.matchedTotal(matcher) : null;
        this.#controls.searchBox.setAttribute("aria-invalid", String(isBad));
        this.#controls.matched.textContent = isBad ? "not a regular expression"
            : sum === null ? "" : `${formatPercent(sum, this.tree.total[0]!)} matched`;
        this.#fillTable();
        this.canvas.draw();
        return sum;
    }

    #toggleRegex(): void {
        const isRegex = !this.#query.isRegex;
        this.#controls.regexButton.setAttribute("aria-pressed", String(isRegex));
        this.search(this.#controls.searchBox.value, isRegex);
    }

    /* --- inside: pointer and keys --- */

    #hover(node: number, x: number, y: number): void {
        const tip = this.#controls.tip;
        tip.hidden = node < 0;
        if (node < 0)
            return;
        this.#fillTip(node);
        placeTip(tip, x, y);
    }

    #fillTip(node: number): void {
        const about = this.describe(node);
        const rows: [string, string, string][] = [["Total", about.totalText, about.totalPercent]];
        if (about.hasSelf)
            rows.push(["Self", about.selfText, about.selfPercent]);
        if (this.canvas.zoomed > 0 && this.tree.level[node]! >= this.tree.level[this.canvas.zoomed]!)
            rows.push(["Of the zoomed", "", formatPercent(about.total, this.tree.total[this.canvas.zoomed]!)]);
        this.#controls.tip.replaceChildren(
            make("strong", {}, make("bdi", { text: about.name })),
            ...[about.detail, about.module && `module ${about.module}`, about.source].filter((text): text is string => Boolean(text))
                .map((text) => make("div", {}, make("bdi", { text }))),
            make("table", {}, ...rows.map(([label, value, percent]) => make("tr", {},
                make("th", { scope: "row", text: label }), make("td", { text: value }), make("td", { text: percent })))),
            ...(this.profile.isDiff ? [make("div", { text: changeText(this.#changeOf(about.total, about.base), this.view.unit) })] : []));
    }

    #onKey(key: string): boolean {
        const actions: Record<string, () => void> = {
            Home: () => this.reset(),
            c: () => void this.copyStack(),
            i: () => this.setOrder(this.order === "callees" ? "callers" : "callees"),
        };
        actions[key]?.();
        return key in actions;
    }
}
