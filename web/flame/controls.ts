/* The controls of the report's flame graph: made here, filled by what shows something. */
import { make } from "./dom";

export interface ControlActions {
    view: (index: number) => void;
    thread: (index: number) => void;
    process: (frame: number) => void;
    order: (order: Order) => void;
    colours: (by: "module" | "space") => void;
    direction: (isFlame: boolean) => void;
    back: () => void;
    reset: () => void;
    search: (text: string) => void;
    toggleRegex: () => void;
    copyStack: () => void;
    focus: (order: Order) => void;
}

export type Order = "callees" | "callers";

const ORDERS: [Order, string][] = [["callees", "Call tree"], ["callers", "Bottom-up"]];

function button(text: string, onclick: () => void): HTMLButtonElement {
    return make("button", { type: "button", text, onclick });
}

function field(label: string, select: HTMLSelectElement): HTMLLabelElement {
    return make("label", { class: "flame-field" }, make("span", { text: label }), select);
}

export class Controls {
    readonly viewSelect: HTMLSelectElement;
    readonly threadSelect: HTMLSelectElement;
    readonly processSelect: HTMLSelectElement;
    readonly colourSelect: HTMLSelectElement;
    readonly threadLabel: HTMLElement;
    readonly processLabel: HTMLElement;
    readonly colourLabel: HTMLElement;
    readonly orderButtons: Map<Order, HTMLButtonElement>;
    readonly backButton: HTMLButtonElement;
    readonly copyButton: HTMLButtonElement;
    readonly regexButton: HTMLButtonElement;
    readonly directionButton: HTMLButtonElement;
    readonly searchBox: HTMLInputElement;
    readonly matched = make("output", { class: "flame-matched", "aria-live": "polite" });
    readonly tip = make("div", { class: "flame-tip", hidden: true });
    readonly live = make("div", { class: "flame-live", "aria-live": "polite" });
    readonly crumbs = make("nav", { class: "flame-crumbs", "aria-label": "Zoomed into" });
    readonly drawing = make("canvas", { "aria-hidden": "true" });
    readonly spacer = make("div", { class: "flame-space" }, this.drawing);
    readonly scroller: HTMLElement;
    readonly empty = make("p", { class: "flame-empty", text: "Nothing was recorded here.", hidden: true });
    readonly legend = make("div", { class: "flame-legend" });
    readonly detailName = make("strong");
    readonly detailFacts = make("span", { class: "flame-facts" });
    readonly detailActions: HTMLElement;
    readonly tableHead = make("tr");
    readonly tableBody = make("tbody");

    constructor(element: HTMLElement, labels: readonly string[], actions: ControlActions) {
        this.viewSelect = make("select", { onchange: () => actions.view(Number(this.viewSelect.value)) },
            ...labels.map((text, value) => make("option", { value, text })));
        this.threadSelect = make("select", { onchange: () => actions.thread(Number(this.threadSelect.value)) });
        this.processSelect = make("select", { onchange: () => actions.process(Number(this.processSelect.value)) });
        this.colourSelect = make("select", { onchange: () => actions.colours(this.colourSelect.value as "module" | "space") },
            make("option", { value: "module", text: "module" }), make("option", { value: "space", text: "namespace" }));
        this.threadLabel = field("Thread", this.threadSelect);
        this.processLabel = field("Process", this.processSelect);
        this.colourLabel = field("Colour", this.colourSelect);
        this.orderButtons = new Map(ORDERS.map(([order, text]) => [order, button(text, () => actions.order(order))]));
        this.backButton = button("Back", actions.back);
        this.directionButton = make("button", { type: "button", text: "Upwards", title: "Grow from the bottom to the top", "aria-pressed": "false",
            onclick: () => actions.direction(this.directionButton.getAttribute("aria-pressed") === "false") });
        this.searchBox = make("input", {
            type: "search", placeholder: "Search methods  ( / )", "aria-label": "Search methods", spellcheck: "false",
            oninput: () => actions.search(this.searchBox.value), onkeydown: (event: KeyboardEvent) => this.#onSearchKey(event, actions),
        });
        this.regexButton = make("button", {
            type: "button", text: ".*", title: "Regular expression", "aria-label": "Regular expression",
            "aria-pressed": "false", onclick: actions.toggleRegex,
        });
        this.scroller = make("div", {
            class: "flame-scroll", tabindex: "0", role: "application", "aria-roledescription": "flame graph",
            "aria-label": "Flame graph. Arrow keys walk, Enter zooms in, Escape goes back, slash searches, C copies the stack. " +
                "The table of methods has the same numbers.",
        }, this.spacer);
        this.copyButton = button("Copy stack", actions.copyStack);
        this.detailActions = make("div", { class: "flame-choice" }, button("Callers", () => actions.focus("callers")),
            button("Callees", () => actions.focus("callees")), this.copyButton);
        element.classList.add("flame");
        element.replaceChildren(this.#bar(actions), this.crumbs,
            make("div", { class: "flame-body" }, this.#graph(), this.#table()), this.tip, this.live);
    }

    #bar(actions: ControlActions): HTMLElement {
        return make("div", { class: "flame-bar", role: "toolbar", "aria-label": "Flame graph" },
            field("View", this.viewSelect), this.processLabel, this.threadLabel,
            make("div", { class: "flame-choice", role: "group", "aria-label": "Order" }, ...this.orderButtons.values()),
            this.colourLabel,
            make("div", { class: "flame-choice" }, this.directionButton),
            make("div", { class: "flame-choice" }, this.backButton, button("Reset", actions.reset)),
            make("div", { class: "flame-search" }, this.searchBox, this.regexButton, this.matched));
    }

    #graph(): HTMLElement {
        const detail = make("div", { class: "flame-detail" },
            make("div", { class: "flame-about" }, this.detailName, this.detailFacts), this.detailActions);
        return make("div", { class: "flame-main" }, this.scroller, this.empty, this.legend, detail);
    }

    #table(): HTMLElement {
        return make("section", { class: "flame-top", "aria-label": "Top methods" },
            make("h3", { text: "Top methods" }),
            make("div", { class: "flame-table" }, make("table", {}, make("thead", {}, this.tableHead), this.tableBody)));
    }

    #onSearchKey(event: KeyboardEvent, actions: ControlActions): void {
        if (event.key !== "Escape" && event.key !== "Enter")
            return;
        event.preventDefault();
        if (event.key === "Escape") {
            this.searchBox.value = "";
            actions.search("");
        }
        this.scroller.focus();
    }

    announce(text: string): void {
        this.live.textContent = text;
    }
}
