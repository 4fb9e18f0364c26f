/* An interactive flame graph in an element of a page.
 *
 *   const graph = new FlameGraph(element, data, { view: 0 });
 *
 * `data.profiles` is a list of profiles (tree.js says what one is); all their views are in one selector.
 * Names are only ever put into the page as text. */
import { FlameCanvas } from "./canvas.js";
import { Colours } from "./colours.js";
import { formatChange, formatPercent, formatValue, shorten, visible } from "./text.js";
import { calleeTree, callerTree, KIND, KIND_LABELS, Profile } from "./tree.js";

const TABLE_ROWS = 100;
const NAME_MAX = 400;
const CHANGE_SCALE = 0.005; // a change of this share of everything has its full colour

function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties ?? {})) {
        if (key === "text")
            element.textContent = value;
        else if (key.startsWith("on"))
            element.addEventListener(key.slice(2), value);
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children);
    return element;
}

/* In percent of what it was, as in the text of sonde diff. */
function growth({ before, after, change }) {
    if (!(before > 0))
        return after > 0 ? "new" : "";
    return after > 0 ? formatChange(change, (part) => formatPercent(part, before)) : "gone";
}

function nameForPeople(text) {
    return visible(shorten(text, NAME_MAX));
}

export class FlameGraph {
    #frameSums;
    #weights;
    #base;
    #baseSums;
    #query = { text: "", isRegex: false };

    constructor(element, data, options = {}) {
        this.element = element;
        this.profiles = data.profiles.map((profile) => new Profile(profile));
        this.views = this.profiles.flatMap((profile, p) =>
            profile.views.map((view, column) => ({ ...view, profile: p, column })));
        this.thread = -1;
        this.order = "callees";
        this.focusFrame = -1;
        this.markedFrame = -1;
        this.history = [];
        this.sort = "self";
        this.colourBy = "module";
        this.darkness = matchMedia("(prefers-color-scheme: dark)");
        this.onDarkness = () => this.#recolour();
        this.darkness.addEventListener("change", this.onDarkness);
        this.#makeControls();
        element.flameGraph = this;
        this.setView(options.view ?? 0);
    }

    destroy() {
        this.darkness.removeEventListener("change", this.onDarkness);
        this.canvas.destroy();
        this.element.replaceChildren();
    }

    /* --- what is shown --- */

    get view() {
        return this.views[this.viewIndex];
    }

    get profile() {
        return this.profiles[this.view.profile];
    }

    setView(index) {
        const isSameProfile = this.viewIndex !== undefined && this.views[index].profile === this.view.profile;
        const place = isSameProfile ? this.#place() : { order: this.order, focus: -1, path: [] };
        this.viewIndex = index;
        if (!isSameProfile) {
            this.thread = -1;
            this.history = [];
            this.markedFrame = -1;
            this.sort = this.profile.isDiff ? "change" : "self";
        }
        this.viewSelect.value = String(index);
        this.#weigh();
        this.#fillThreads();
        this.#fillProcesses();
        this.#goTo(place);
    }

    setThread(index) {
        const place = this.#place();
        this.thread = index;
        this.threadSelect.value = String(index);
        this.#weigh();
        this.#goTo(place);
    }

    /* One process with all its stacks; -1: all of them. */
    setProcess(frame) {
        this.#remember();
        this.#goTo({ order: "callees", focus: frame, path: [] });
    }

    /* "callees": who calls whom. "callers": bottom up, from where it was spent. */
    setOrder(order) {
        if (order === this.order && this.focusFrame < 0)
            return;
        this.#remember();
        this.#goTo({ order, focus: -1, path: [] });
    }

    /* One method with all its callers or callees, wherever in the tree they are. */
    focus(frame, order) {
        this.#remember();
        this.#goTo({ order, focus: frame, path: [] });
    }

    setColours(by) {
        this.colourBy = by;
        this.#recolour();
    }

    zoomTo(node) {
        if (node === this.canvas.zoomed)
            return;
        this.#remember();
        this.canvas.zoomTo(node);
        this.#afterZoom();
    }

    back() {
        const place = this.history.pop();
        if (place)
            this.#goTo(place, true);
    }

    reset() {
        this.history = [];
        this.search("");
        this.searchBox.value = "";
        this.select(-1);
        this.#goTo({ order: "callees", focus: -1, path: [] }, true);
    }

    /* Returns how much of the view is in or below matching frames, or null if there is no search. */
    search(text, isRegex = this.#query.isRegex) {
        this.#query = { text, isRegex };
        this.markedFrame = -1;
        return this.#applySearch();
    }

    select(node) {
        this.canvas.selected = node;
        this.canvas.requestDraw();
        this.#showDetail();
        if (node >= 0)
            this.#announce(this.describe(node).sentence);
    }

    /* Everything known about a node of the tree that is shown. */
    describe(node) {
        const tree = this.tree;
        const frame = tree.frame[node];
        const about = frame < 0 ? { name: this.#rootName(), module: "" } : this.#aboutFrame(frame);
        const whole = tree.total[0];
        const text = (value) => formatValue(value, this.view.unit);
        return {
            ...about, node, frame,
            self: tree.self[node], total: tree.total[node], base: tree.base[node],
            selfText: text(tree.self[node]), selfPercent: formatPercent(tree.self[node], whole),
            totalText: text(tree.total[node]), totalPercent: formatPercent(tree.total[node], whole),
            hasSelf: frame >= 0 && (this.order === "callees" || (tree.level[node] === 1 && this.focusFrame < 0)),
            sentence: `${about.name}${about.module ? ` in ${about.module}` : ""}: total ${text(tree.total[node])}, ` +
                `${formatPercent(tree.total[node], whole)}; level ${tree.level[node]}`,
        };
    }

    /* From the caller to the callee, one a line. */
    stackOf(node) {
        const names = this.tree.pathTo(node).map((n) => visible(this.profile.frames.name[this.tree.frame[n]]));
        return (this.order === "callers" ? names.reverse() : names).join("\n");
    }

    async copyStack(node = this.canvas.selected) {
        if (node <= 0)
            return;
        await copyText(this.stackOf(node));
        this.#announce("Stack copied.");
        this.copyButton.textContent = "Copied";
        setTimeout(() => { this.copyButton.textContent = "Copy stack"; }, 1500);
    }

    /* --- inside: data --- */

    #weigh() {
        const profile = this.profile;
        this.#weights = profile.weigh(this.view.column, this.thread);
        this.#base = profile.isDiff ? profile.weigh(1 - this.view.column, this.thread) : null;
        this.#frameSums = profile.sumByFrame(this.#weights);
        this.#baseSums = this.#base && profile.sumByFrame(this.#base);
        this.colours = new Colours(profile, this.#frameSums.total, this.colourBy, this.darkness.matches);
    }

    #rootName() {
        if (this.focusFrame < 0)
            return this.view.label;
        const name = nameForPeople(this.profile.frames.name[this.focusFrame]);
        return this.order === "callers" ? `Callers of ${name}` : `${name} and what it calls`;
    }

    #build() {
        const grow = this.order === "callers" ? callerTree : calleeTree;
        this.tree = grow(this.profile, this.#weights, this.#base, this.focusFrame);
        const total = formatValue(this.tree.total[0], this.view.unit);
        this.canvas.show(this.tree, (node) => this.#colourOf(node), `${shorten(this.#rootName(), 120)}  ${total}`);
        this.empty.hidden = this.tree.count > 1;
    }

    #colourOf(node) {
        if (!this.profile.isDiff)
            return this.colours.of(this.tree.frame[node]);
        const { change } = this.#changeOf(this.tree.total[node], this.tree.base[node]);
        const ratio = change / Math.max(this.tree.total[node], this.tree.base[node]);
        const weight = Math.min(1, Math.abs(change) / (CHANGE_SCALE * Math.max(this.tree.total[0], this.tree.base[0])));
        return this.colours.ofChange(ratio * weight);
    }

    /* Whichever of the two profiles gives the widths, the change is from before to after. */
    #changeOf(shown, other) {
        const isAfter = this.view.column === 0;
        const after = isAfter ? shown : other;
        const before = isAfter ? other : shown;
        return { before, after, change: after - before };
    }

    #recolour() {
        this.colours = new Colours(this.profile, this.#frameSums.total, this.colourBy, this.darkness.matches);
        this.#fillLegend();
        this.canvas.draw();
    }

    /* A place that outlives the tree: frames from the outside in. */
    #place() {
        const path = this.tree.pathTo(this.canvas.zoomed).map((node) => this.tree.frame[node]);
        return { order: this.order, focus: this.focusFrame, path };
    }

    #remember() {
        this.history.push(this.#place());
    }

    #goTo(place, isSameTree = false) {
        const rebuild = !isSameTree || place.order !== this.order || place.focus !== this.focusFrame;
        this.order = place.order;
        this.focusFrame = place.focus;
        if (rebuild)
            this.#build();
        const node = this.#find(place.path);
        if (node !== this.canvas.zoomed)
            this.canvas.zoomTo(node);
        this.#fillLegend();
        this.#applySearch();
        this.#showDetail();
        this.#afterZoom();
    }

    #find(path) {
        let node = 0;
        for (const frame of path) {
            const end = this.tree.childrenEnd(node);
            let child = this.tree.firstChild[node];
            while (child < end && this.tree.frame[child] !== frame)
                child++;
            if (child >= end)
                break;
            node = child;
        }
        return node;
    }

    #aboutFrame(frame) {
        const frames = this.profile.frames;
        return {
            name: nameForPeople(frames.name[frame]),
            short: nameForPeople(this.profile.shortName(frame)),
            space: nameForPeople(this.profile.spaces[frames.space[frame]]),
            detail: frames.detail[frame] ? nameForPeople(frames.detail[frame]) : "",
            module: nameForPeople(this.profile.modules[frames.module[frame]]),
            kind: KIND_LABELS[frames.kind[frame]],
            source: frames.source?.[frame] ? nameForPeople(frames.source[frame]) : "",
        };
    }

    /* --- inside: controls --- */

    #makeControls() {
        this.viewSelect = make("select", { onchange: () => this.setView(Number(this.viewSelect.value)) },
            ...this.views.map((view, index) => make("option", { value: index, text: view.label })));
        this.threadSelect = make("select", { onchange: () => this.setThread(Number(this.threadSelect.value)) });
        this.colourSelect = make("select", { onchange: () => this.setColours(this.colourSelect.value) },
            make("option", { value: "module", text: "module" }), make("option", { value: "space", text: "namespace" }));
        this.threadLabel = make("label", { class: "flame-field" }, make("span", { text: "Thread" }), this.threadSelect);
        this.processSelect = make("select", { onchange: () => this.setProcess(Number(this.processSelect.value)) });
        this.processLabel = make("label", { class: "flame-field" }, make("span", { text: "Process" }), this.processSelect);
        this.colourLabel = make("label", { class: "flame-field" }, make("span", { text: "Colour" }), this.colourSelect);
        this.orderButtons = new Map([["callees", "Call tree"], ["callers", "Bottom-up"]].map(([order, text]) =>
            [order, make("button", { type: "button", text, onclick: () => this.setOrder(order) })]));
        this.backButton = make("button", { type: "button", text: "Back", onclick: () => this.back() });
        this.resetButton = make("button", { type: "button", text: "Reset", onclick: () => this.reset() });
        this.tip = make("div", { class: "flame-tip", hidden: true });
        this.live = make("div", { class: "flame-live", "aria-live": "polite" });
        this.crumbs = make("nav", { class: "flame-crumbs", "aria-label": "Zoomed into" });
        this.element.classList.add("flame");
        this.element.replaceChildren(
            make("div", { class: "flame-bar", role: "toolbar", "aria-label": "Flame graph" },
                make("label", { class: "flame-field" }, make("span", { text: "View" }), this.viewSelect),
                this.processLabel,
                this.threadLabel,
                make("div", { class: "flame-choice", role: "group", "aria-label": "Order" }, ...this.orderButtons.values()),
                this.colourLabel,
                make("div", { class: "flame-choice" }, this.backButton, this.resetButton),
                this.#makeSearch()),
            this.crumbs,
            make("div", { class: "flame-body" }, this.#makeGraph(), this.#makeTable()),
            this.tip, this.live);
    }

    #makeSearch() {
        this.searchBox = make("input", {
            type: "search", placeholder: "Search methods  ( / )", "aria-label": "Search methods", spellcheck: "false",
            oninput: () => this.search(this.searchBox.value),
            onkeydown: (event) => this.#onSearchKey(event),
        });
        this.regexButton = make("button", {
            type: "button", text: ".*", title: "Regular expression", "aria-label": "Regular expression",
            "aria-pressed": "false", onclick: () => this.#toggleRegex(),
        });
        this.matched = make("output", { class: "flame-matched", "aria-live": "polite" });
        return make("div", { class: "flame-search" }, this.searchBox, this.regexButton, this.matched);
    }

    #makeGraph() {
        const drawing = make("canvas", { "aria-hidden": "true" });
        const spacer = make("div", { class: "flame-space" }, drawing);
        this.scroller = make("div", {
            class: "flame-scroll", tabindex: "0", role: "application", "aria-roledescription": "flame graph",
            "aria-label": "Flame graph. Arrow keys walk, Enter zooms in, Escape goes back, slash searches, C copies the stack. " +
                "The table of methods has the same numbers.",
            onkeydown: (event) => this.#onKey(event),
            onpointermove: (event) => this.#hover(event),
            onpointerleave: () => this.#hover(null),
            onscroll: () => this.#hover(null),
            onclick: (event) => this.#onClick(event),
        }, spacer);
        this.canvas = new FlameCanvas(this.scroller, spacer, drawing);
        this.empty = make("p", { class: "flame-empty", text: "Nothing was recorded here.", hidden: true });
        this.legend = make("div", { class: "flame-legend" });
        return make("div", { class: "flame-main" }, this.scroller, this.empty, this.legend, this.#makeDetail());
    }

    #makeDetail() {
        this.copyButton = make("button", { type: "button", text: "Copy stack", onclick: () => this.copyStack() });
        this.callersButton = make("button", { type: "button", text: "Callers", onclick: () => this.focus(this.#detailFrame(), "callers") });
        this.calleesButton = make("button", { type: "button", text: "Callees", onclick: () => this.focus(this.#detailFrame(), "callees") });
        this.detailName = make("strong");
        this.detailFacts = make("span", { class: "flame-facts" });
        this.detailActions = make("div", { class: "flame-choice" }, this.callersButton, this.calleesButton, this.copyButton);
        return make("div", { class: "flame-detail" },
            make("div", { class: "flame-about" }, this.detailName, this.detailFacts), this.detailActions);
    }

    #makeTable() {
        this.tableHead = make("tr");
        this.tableBody = make("tbody");
        return make("section", { class: "flame-top", "aria-label": "Top methods" },
            make("h3", { text: "Top methods" }),
            make("div", { class: "flame-table" }, make("table", {}, make("thead", {}, this.tableHead), this.tableBody)));
    }

    /* --- inside: filling them --- */

    #fillThreads() {
        const rows = this.profile.rows;
        const totals = new Float64Array(this.profile.threads.length);
        if (totals.length)
            rows.values[this.view.column].forEach((value, i) => { totals[rows.thread[i]] += value; });
        const whole = totals.reduce((sum, value) => sum + value, 0);
        const order = [...totals.keys()].filter((t) => totals[t] > 0 || t === this.thread).sort((a, b) => totals[b] - totals[a]);
        const options = order.map((t) => {
            const { id, name } = this.profile.threads[t];
            const label = [name ? visible(shorten(name, 40)) : "thread", id].join(" ");
            return make("option", { value: t, text: `${label}  (${formatPercent(totals[t], whole)})` });
        });
        this.threadSelect.replaceChildren(make("option", { value: -1, text: "All threads" }), ...options);
        this.threadSelect.value = String(this.thread);
        this.threadLabel.hidden = this.profile.threads.length < 2;
    }

    /* Processes are frames at the root, where a recording has several. */
    #fillProcesses() {
        const kinds = this.profile.frames.kind;
        const totals = this.#frameSums.total;
        const found = [...kinds.keys()].filter((f) => kinds[f] === KIND.process && totals[f] > 0)
            .sort((a, b) => totals[b] - totals[a]);
        const whole = found.reduce((sum, frame) => sum + totals[frame], 0);
        const options = found.map((frame) => make("option", { value: frame,
            text: `${visible(shorten(this.profile.frames.name[frame], 40))}  (${formatPercent(totals[frame], whole)})` }));
        this.processSelect.replaceChildren(make("option", { value: -1, text: "All processes" }), ...options);
        this.processLabel.hidden = found.length < 2;
    }

    #fillLegend() {
        this.processSelect.value = String(this.focusFrame);
        if (this.processSelect.selectedIndex < 0)
            this.processSelect.value = "-1";
        this.colourLabel.hidden = this.profile.isDiff;
        const items = this.profile.isDiff
            ? [-1, -0.5, 0, 0.5, 1].map((change, i) =>
                ({ label: ["shrank", "", "same", "", "grew"][i], colour: this.colours.ofChange(change) }))
            : this.colours.legend();
        this.legend.replaceChildren(...items.map(({ label, colour }) => {
            const swatch = make("i", { "aria-hidden": "true" });
            swatch.style.background = colour;
            return make("span", {}, swatch, visible(shorten(label, 60)));
        }));
    }

    #columns() {
        const { self, total } = this.#frameSums;
        const whole = Math.max(this.#weights.total[0], this.#base?.total[0] ?? 0);
        const share = (values) => (frame) => formatPercent(values[frame], whole);
        const columns = [
            { key: "self", label: "Self", values: self, percent: share(self) },
            { key: "total", label: "Total", values: total, percent: share(total) },
        ];
        if (!this.profile.isDiff)
            return columns;
        const changes = Array.from(self, (value, f) => this.#changeOf(value, this.#baseSums.self[f]));
        return [{ key: "change", label: "Change", values: changes.map(({ change }) => change), isSigned: true,
            percent: (frame) => growth(changes[frame]) }, ...columns];
    }

    #fillTable() {
        const columns = this.#columns();
        const key = columns.find((column) => column.key === this.sort).values;
        for (const column of columns)
            column.largest = column.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        const kinds = this.profile.frames.kind; // a process is no method
        const frames = [...key.keys()].filter((f) => kinds[f] !== KIND.process &&
            columns.some(({ values }) => values[f]) && (!this.matcher || this.matcher(f)))
            .sort((a, b) => Math.abs(key[b]) - Math.abs(key[a])).slice(0, TABLE_ROWS);
        this.tableHead.replaceChildren(make("th", { scope: "col", text: "Method" }), ...columns.map((column) =>
            make("th", { scope: "col", "aria-sort": column.key === this.sort ? "descending" : "none" },
                make("button", { type: "button", text: column.label, onclick: () => this.#sortBy(column.key) }))));
        this.tableBody.replaceChildren(...frames.map((frame) => this.#tableRow(frame, columns)));
    }

    #tableRow(frame, columns) {
        const about = this.#aboutFrame(frame);
        const whole = Math.max(this.#weights.total[0], this.#base?.total[0] ?? 0);
        const swatch = make("i", { "aria-hidden": "true" });
        swatch.style.background = this.profile.isDiff
            ? this.colours.ofChange(columns[0].values[frame] / (CHANGE_SCALE * whole)) : this.colours.of(frame);
        const name = make("button", { type: "button", title: shorten(about.name, 200), onclick: () => this.#mark(frame) },
            make("bdi", { text: about.short }));
        const place = [...new Set([about.space, about.module])].filter(Boolean).join(" · ") || about.kind;
        return make("tr", { class: frame === this.markedFrame ? "is-marked" : null },
            make("th", { scope: "row" }, make("div", {}, swatch, name),
                make("small", { text: place, title: shorten(place, 200) })),
            ...columns.map((column) => this.#tableCell(column, frame)));
    }

    #tableCell(column, frame) {
        const value = column.values[frame];
        const text = (amount) => formatValue(amount, this.view.unit);
        const bar = make("div", { class: column.isSigned ? (value > 0 ? "is-more" : "is-less") : null });
        bar.style.setProperty("--share", String(Math.abs(value) / (column.largest || 1)));
        return make("td", {}, bar, make("span", { text: column.isSigned ? formatChange(value, text) : text(value) }),
            make("small", { text: column.percent(frame) }));
    }

    #sortBy(key) {
        this.sort = key;
        this.#fillTable();
    }

    /* A method of the table: all its places light up. */
    #mark(frame) {
        this.markedFrame = this.markedFrame === frame ? -1 : frame;
        this.canvas.selected = -1;
        this.#applySearch();
        this.#showDetail();
    }

    #afterZoom() {
        const path = this.tree.pathTo(this.canvas.zoomed);
        const crumb = (node, text) => make("button", {
            type: "button", text: shorten(text, 60), title: shorten(text, 200), onclick: () => this.zoomTo(node),
            "aria-current": node === this.canvas.zoomed ? "location" : null,
        });
        const shown = path.length > 6 ? [...path.slice(0, 1), -1, ...path.slice(-4)] : path;
        this.crumbs.replaceChildren(crumb(0, this.#rootName()), ...shown.map((node) => node < 0
            ? make("span", { text: `… ${path.length - 5} more …` }) : crumb(node, this.#aboutFrame(this.tree.frame[node]).short)));
        this.crumbs.scrollLeft = this.crumbs.scrollWidth;
        this.backButton.disabled = this.history.length === 0;
        for (const [order, button] of this.orderButtons)
            button.setAttribute("aria-pressed", String(order === this.order && this.focusFrame < 0));
    }

    #detailFrame() {
        return this.canvas.selected >= 0 ? this.tree.frame[this.canvas.selected] : this.markedFrame;
    }

    #showDetail() {
        const node = this.canvas.selected;
        const frame = this.#detailFrame();
        this.detailActions.hidden = frame < 0;
        this.copyButton.hidden = node < 0;
        if (node >= 0) {
            const about = this.describe(node);
            this.detailName.textContent = about.name;
            this.detailFacts.textContent = this.#facts(about).join("  ·  ");
        } else if (frame >= 0) {
            const about = this.#aboutFrame(frame);
            const text = (value) => `${formatValue(value, this.view.unit)} (${formatPercent(value, this.#weights.total[0])})`;
            this.detailName.textContent = about.name;
            this.detailFacts.textContent = [about.module || about.kind, about.source, `self ${text(this.#frameSums.self[frame])}`,
                `total ${text(this.#frameSums.total[frame])}`].filter(Boolean).join("  ·  ");
        } else {
            this.detailName.textContent = "";
            this.detailFacts.textContent = "Click a frame to zoom in. Arrow keys walk, Enter zooms, Escape goes back, / searches.";
        }
    }

    #facts(about) {
        const facts = [about.module || about.kind || "", about.source ?? "", `total ${about.totalText} (${about.totalPercent})`];
        if (about.hasSelf)
            facts.push(`self ${about.selfText} (${about.selfPercent})`);
        if (this.profile.isDiff)
            facts.push(this.#changeText(about));
        return facts.filter(Boolean);
    }

    #changeText(about) {
        const { before, after, change } = this.#changeOf(about.total, about.base);
        const text = (value) => formatValue(value, this.view.unit);
        return `${text(before)} before, ${text(after)} after: ${formatChange(change, text)} (${growth({ before, after, change })})`;
    }

    /* --- inside: searching --- */

    #matcherOf({ text, isRegex }) {
        if (this.markedFrame >= 0)
            return { isBad: false, matcher: (frame) => frame === this.markedFrame };
        if (!text)
            return { isBad: false, matcher: null };
        const wanted = text.toLowerCase();
        let test = (name) => name.toLowerCase().includes(wanted);
        if (isRegex) {
            try {
                const pattern = new RegExp(text, "i");
                test = (name) => pattern.test(name);
            } catch {
                return { isBad: true, matcher: null };
            }
        }
        const known = new Map(); // a frame occurs in many nodes
        return { isBad: false, matcher: (frame) => {
            if (!known.has(frame))
                known.set(frame, test(this.profile.frames.name[frame]));
            return known.get(frame);
        } };
    }

    #applySearch() {
        const { isBad, matcher } = this.#matcherOf(this.#query);
        this.canvas.isMatch = matcher;
        this.matcher = this.markedFrame < 0 ? matcher : null;
        const sum = matcher ? this.tree.matchedTotal(matcher) : null;
        this.searchBox.setAttribute("aria-invalid", String(isBad));
        this.matched.textContent = isBad ? "not a regular expression"
            : sum === null ? "" : `${formatPercent(sum, this.tree.total[0])} matched`;
        this.#fillTable();
        this.canvas.draw();
        return sum;
    }

    #toggleRegex() {
        const isRegex = !this.#query.isRegex;
        this.regexButton.setAttribute("aria-pressed", String(isRegex));
        this.search(this.searchBox.value, isRegex);
    }

    #onSearchKey(event) {
        if (event.key !== "Escape" && event.key !== "Enter")
            return;
        event.preventDefault();
        if (event.key === "Escape") {
            this.searchBox.value = "";
            this.search("");
        }
        this.scroller.focus();
    }

    /* --- inside: pointer and keys --- */

    #hover(event) {
        const node = event ? this.canvas.nodeAt(event.clientX, event.clientY) : -1;
        if (node !== this.canvas.hovered) {
            this.canvas.hovered = node;
            this.canvas.requestDraw();
            this.scroller.style.cursor = node >= 0 ? "pointer" : "";
        }
        this.tip.hidden = node < 0;
        if (node >= 0) {
            this.#fillTip(node);
            this.#placeTip(event.clientX, event.clientY);
        }
    }

    #fillTip(node) {
        const about = this.describe(node);
        const rows = [["Total", about.totalText, about.totalPercent]];
        if (about.hasSelf)
            rows.push(["Self", about.selfText, about.selfPercent]);
        if (this.canvas.zoomed > 0 && this.tree.level[node] >= this.tree.level[this.canvas.zoomed])
            rows.push(["Of the zoomed", "", formatPercent(about.total, this.tree.total[this.canvas.zoomed])]);
        this.tip.replaceChildren(
            make("strong", {}, make("bdi", { text: about.name })),
            ...[about.detail, about.module && `module ${about.module}`, about.source].filter(Boolean)
                .map((text) => make("div", {}, make("bdi", { text }))),
            make("table", {}, ...rows.map(([label, value, percent]) => make("tr", {},
                make("th", { scope: "row", text: label }), make("td", { text: value }), make("td", { text: percent })))),
            ...(this.profile.isDiff ? [make("div", { text: this.#changeText(about) })] : []));
    }

    #placeTip(x, y) {
        const box = this.tip.getBoundingClientRect();
        const left = Math.min(x + 14, document.documentElement.clientWidth - box.width - 8);
        const isBelow = y + 18 + box.height < innerHeight - 4;
        this.tip.style.left = `${Math.max(8, left)}px`;
        this.tip.style.top = `${Math.max(4, isBelow ? y + 18 : y - box.height - 12)}px`;
    }

    #onClick(event) {
        const node = this.canvas.nodeAt(event.clientX, event.clientY);
        if (node < 0)
            return;
        this.zoomTo(node);
        this.select(node);
    }

    /* The neighbour of a node in a direction, itself if there is none. */
    #neighbour(node, key) {
        const tree = this.tree;
        const level = tree.level[node];
        if (key === "ArrowUp")
            return Math.max(0, tree.parent[node]);
        if (key === "ArrowDown")
            return tree.firstChild[node] < tree.childrenEnd(node) ? tree.firstChild[node] : node;
        const next = key === "ArrowRight" ? node + 1 : node - 1;
        return next >= tree.levels[level] && next < tree.levels[level + 1] ? next : node;
    }

    #onKey(event) {
        if (event.ctrlKey || event.metaKey || event.altKey)
            return;
        const selected = this.canvas.selected;
        const actions = {
            Enter: () => selected >= 0 && this.zoomTo(selected),
            Escape: () => (this.history.length ? this.back() : this.select(-1)),
            Backspace: () => this.back(),
            Home: () => this.reset(),
            "/": () => this.searchBox.focus(),
            c: () => this.copyStack(),
            i: () => this.setOrder(this.order === "callees" ? "callers" : "callees"),
        };
        if (event.key.startsWith("Arrow")) {
            const node = selected < 0 ? this.canvas.zoomed : this.#neighbour(selected, event.key);
            this.select(node);
            this.canvas.reveal(node);
        } else if (actions[event.key]) {
            actions[event.key]();
        } else {
            return;
        }
        event.preventDefault();
    }

    #announce(text) {
        this.live.textContent = text;
    }
}

async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = make("textarea", { class: "flame-live" }); // pages from files may not have a clipboard
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}
