/* A flame graph with all that belongs to it, of a recording that runs or is over. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { matcherOf } from "../../../flame/about";
import { Colours } from "../../../flame/colours";
import type { FrameTable } from "../../../flame/rows";
import { formatPercent, shorten, visible } from "../../../flame/text";
import { count, seconds } from "../../format";
import type { Route } from "../../route";
import { Cell, useCell } from "../../store";
import { Icon } from "../../ui/icons";
import { CopyButton, Empty, Loading, Notice } from "../../ui/parts";
import { theme } from "../../ui/theme";
import { Search, ShapeBar, ViewBar } from "./bar";
import { useBaseline } from "./baseline";
import { CompareBar, CompareControl } from "./compare";
import { Crumbs } from "./crumbs";
import { Detail } from "./detail";
import { factsOf, viewNoun } from "./facts";
import type { Feed } from "./feed";
import { Graph, type GraphHandle, type ShownTree } from "./graph";
import { Methods } from "./methods";
import { makeModel, type Model } from "./model";
import { change, pathOf, readState, type FlameState } from "./state";
import { Tip, type TipCell } from "./tip";
import "./flame.css";

const MATCHES_MAX = 2000;
const HINT = matchMedia("(pointer: coarse)").matches ? "Tap a box to select it, tap twice to zoom in."
    : "Click a box to zoom in; drag to move, Ctrl and the wheel to zoom. Keys: arrows walk, Enter zooms, Escape goes back, / searches.";

const UNKNOWN = "[unknown code]";
const FIRST_ANSWERS = 3; // of a live look, in which nothing means nothing yet

const EMPTY: Record<string, readonly [title: string, text: string]> = {
    cpu: ["No CPU time", "The process may be idle. Try the wall view, which also shows where threads wait."],
    wall: ["No threads", "No thread was seen in any sample."],
    alloc: ["No allocations", "None was sampled: the runtime reports about one in 100 KB."],
    exceptions: ["No exceptions", "That is good news."],
    contention: ["No waits for locks", "That is good news."],
};

function NothingThere({ view, isOver }: { view: string; isOver: boolean }) {
    const [title, text] = EMPTY[view] ?? ["Nothing", ""];
    return <Empty title={isOver ? title : `${title} so far`}>{text}</Empty>;
}

export interface FlameScreenProps {
    feed: Feed | null;
    table: FrameTable;
    route: Route;
    isLive: boolean;
    subject: string; // what it is of; with another, nothing of before is shown
    waiting: ComponentChildren; // shown while there is nothing to read
}

/* Not read out: its numbers change every two seconds. */
function Losses({ feed, state }: { feed: Feed; state: FlameState }) {
    const { rows, source } = feed;
    const isCut = rows.nodeCount >= source.nodes;
    return (
        <>
            {rows.lost > 0 && (
                <div class="notice warn">
                    <div>The runtime had no room for {count(rows.lost)} {rows.lost === 1 ? "event" : "events"}: what is shown is less than what happened. Shares remain about right.</div>
                </div>
            )}
            {isCut && (
                <Notice action={!state.all && <button type="button" onClick={() => change({ nodes: "all" })}>Show up to a million</button>}>
                    The {count(source.nodes)} heaviest calls are shown; the totals count the others too.
                </Notice>
            )}
        </>
    );
}

function LiveState({ feed, isLive }: { feed: Feed; isLive: boolean }) {
    const { rows } = feed;
    if (rows.isComplete)
        return isLive || !rows.durationSeconds ? null : <span class="quiet">{seconds(rows.durationSeconds)} recorded</span>;
    return (
        <>
            <span class="only-read" role="status">{feed.isPaused ? "The graph is paused" : ""}</span>
            <span class={`badge ${feed.isPaused ? "warn" : "good"}`}>{feed.isPaused ? "paused" : "live"}{rows.durationSeconds > 0 && `, ${seconds(Math.round(rows.durationSeconds))} so far`}</span>
            <button type="button" aria-pressed={feed.isPaused} onClick={() => feed.setPaused(!feed.isPaused)}>
                <Icon name={feed.isPaused ? "play" : "pause"} />{feed.isPaused ? "Go on" : "Pause"}
            </button>
        </>
    );
}

/* A runtime tells the names of its methods some seconds after the first samples. */
function NamesNote({ feed, model, table }: { feed: Feed; model: Model; table: FrameTable }) {
    const unknown = table.frames.name.reduce((sum, name, frame) => (name === UNKNOWN ? sum + (model.sums.self[frame] ?? 0) : sum), 0);
    const isMost = unknown > model.weights.total[0]! / 2;
    return !feed.rows.isComplete && isMost ? <p class="quiet flame-hint">The names of methods are coming: the runtime tells them within a few seconds.</p> : null;
}

/* The legend keeps its order while a profile grows. */
function useColours(model: Model | null, state: FlameState, table: FrameTable): Colours {
    const isDark = useCell(theme) === "dark";
    const before = useRef<Colours | null>(null);
    return useMemo(() => (before.current = new Colours(table, model?.sums.total ?? new Float64Array(0), state.colour, isDark, before.current)),
        [model, state.colour, isDark, table]);
}

export function FlameScreen({ feed, table, route, isLive, subject, waiting }: FlameScreenProps) {
    const state = readState(route);
    const base = useBaseline(state.base, state.view, table, feed?.rows.epoch ?? 0);
    const version = feed ? feed.changed.value : -1;
    const isEarly = isLive && (state.view === "cpu" || state.view === "wall") && feed?.rows.version === 0 && version < FIRST_ANSWERS;
    const isReady = feed !== null && feed.isRead && !isEarly;
    const stir = [state.view, state.base, state.byTime, state.isBefore, state.last, state.colour === "waiting"].join(" ");
    const last = useRef<{ model: Model; of: string } | null>(null);
    const of = `${state.view} ${subject}`;
    const model = useMemo(() => {
        if (isReady)
            last.current = { model: makeModel(feed, base.baseline, state), of };
        return last.current?.of === of ? last.current.model : null;
    }, [feed, version, base.baseline, stir, of]);
    const colours = useColours(model, state, table);
    return (
        <div class="flame-page">
            <ViewBar state={state} isGrowing={isLive && !state.base}>
                {feed && isReady && <LiveState feed={feed} isLive={isLive} />}
                <CopyButton text={() => location.href} label="Copy link" />
            </ViewBar>
            {feed && isReady && <Losses feed={feed} state={state} />}
            {feed?.error && feed.error.status !== 409 && <Notice mood="bad">{feed.error.message}</Notice>}
            {model && feed ? <Body feed={feed} model={model} colours={colours} state={state} stir={stir} table={table} base={base} />
                : feed?.error ? null : waiting ?? <Loading what="Reading the profile…" />}
        </div>
    );
}

interface BodyProps {
    feed: Feed;
    model: Model;
    colours: Colours;
    state: FlameState;
    stir: string;
    table: FrameTable;
    base: ReturnType<typeof useBaseline>;
}

function Body({ feed, model, colours, state, stir, table, base }: BodyProps) {
    const [, redraw] = useState({});
    const box = useRef<HTMLInputElement>(null);
    const graph = useRef<GraphHandle>(null) as { current: GraphHandle | null };
    const callers = useRef<GraphHandle>(null) as { current: GraphHandle | null };
    const active = useRef<"graph" | "callers">("graph");
    const tip = useMemo<TipCell>(() => new Cell(null), []);
    const past = useRef<string[]>([]); // where one was before, for Escape
    const matcher = useMemo(() => matcherOf(table, state.search).matcher, [table, state.search]);
    const method = state.method ? table.find(state.method, state.module || undefined) : -1;
    const isSandwich = state.show === "sandwich" && method >= 0;
    const frame = isSandwich ? method : -1;
    const isCallers = !isSandwich && state.isInverted;
    const focusName = method >= 0 ? visible(shorten(state.method, 120)) : "";
    const rootName = isSandwich ? `${focusName} and what it calls` : viewNoun(state.view) + (isCallers ? ", from where it was spent" : "");
    const nameOf = (which: "graph" | "callers") => (which === "callers" ? `Callers of ${focusName}` : rootName);

    const at = active.current === "callers" && isSandwich ? "callers" : "graph";
    const handleOf = (which: "graph" | "callers") => (which === "callers" ? callers.current : graph.current);
    const handle = handleOf(at);
    const shown = handle?.shown ?? null; // may be what was before `model`
    const tree = shown?.tree ?? null;
    const selected = handle?.canvas.selected ?? -1;
    const facts = (which: "graph" | "callers", node: number, of: ShownTree) =>
        factsOf(of.tree, node, of.model, nameOf(which), which === "callers" || isCallers, isSandwich);
    const mine = graph.current?.canvas.tree ?? null;
    const matches = useMemo(() => (mine && matcher ? { nodes: mine.matches(matcher, MATCHES_MAX), share: formatPercent(mine.matchedTotal(matcher), mine.total[0]!) } : null),
        [mine, matcher]);
    const match = matches && graph.current ? matches.nodes.indexOf(graph.current.canvas.selected) : -1;
    const step = (by: number) => {
        const now = graph.current?.canvas.tree;
        if (!now || !matcher)
            return;
        const nodes = now === mine && matches ? matches.nodes : now.matches(matcher, MATCHES_MAX); // it may just have moved
        const from = nodes.indexOf(graph.current!.canvas.selected);
        active.current = "graph";
        if (nodes.length)
            graph.current!.reveal(nodes[(from + by + (from < 0 && by < 0 ? 1 : 0) + nodes.length) % nodes.length]!);
    };
    const sandwich = (of: number) => change({ show: "sandwich", method: table.frames.name[of], module: table.modules[table.frames.module[of]!], at: "", up: "", window: "" }, true);
    const back = (handle: GraphHandle | null) => {
        const before = handle === graph.current ? past.current.pop() : undefined;
        if (before !== undefined || handle?.isZoomed())
            handle?.goTo(before ?? "");
        else
            handle?.select(-1);
    };
    const common = (which: "graph" | "callers") => ({
        model, stir, colours, matcher, rootName: nameOf(which),
        label: `Flame graph, ${nameOf(which)}`,
        onChange: () => { active.current = which; redraw({}); },
        onHover: (node: number, x: number, y: number) => {
            const of = handleOf(which)?.shown;
            if (node < 0 || !of) {
                tip.set(null);
                return;
            }
            const { total, level } = of.tree;
            const { zoomed } = handleOf(which)!.canvas;
            const isIn = zoomed > 0 && level[node]! >= level[zoomed]!;
            tip.set({ facts: facts(which, node, of), x, y, ofZoomed: isIn ? formatPercent(total[node]!, total[zoomed]!) : "" });
        },
        onSearch: () => box.current?.focus(),
        onKey: (key: string) => {
            const keys: Record<string, () => void> = { n: () => step(1), p: () => step(-1), i: () => change({ order: state.isInverted ? "" : "callers", at: "", window: "" }, true) };
            keys[key]?.();
            return key in keys;
        },
    });
    const isEmpty = model.weights.total[0] === 0 && !model.base?.total[0];
    const chosen = shown !== null && selected >= 0 && selected < shown.tree.count ? facts(at, selected, shown) : null;
    const said = useMemo(() => chosen?.sentence ?? "", [chosen ? `${at} ${pathOf(tree!, selected)}` : ""]); // not again with each sample
    return (
        <>
            <ShapeBar state={state} isCompared={model.base !== null}><CompareControl feed={feed} table={table} state={state} /></ShapeBar>
            <CompareBar state={state} base={base} model={model} />
            <Search text={state.search} box={box} at={match} count={state.show === "table" ? 0 : matches?.nodes.length ?? 0} onStep={step}
                said={matches ? `${matches.share} in ${count(matches.nodes.length)}${matches.nodes.length === MATCHES_MAX ? " or more" : ""} ${matches.nodes.length === 1 ? "place" : "places"}` : ""}
                onLeave={() => graph.current?.canvas.scroller.focus()} />
            {isEmpty ? <NothingThere view={state.view} isOver={feed.rows.isComplete} /> : <NamesNote feed={feed} model={model} table={table} />}
            <div hidden={state.show === "table" || isEmpty || (state.show === "sandwich" && method < 0)}>
                {isSandwich && (
                    <div class="flame-half">
                        <h3>Callers</h3>
                        <Graph key="callers" {...common("callers")} isCallers={true} frame={frame} isUp={true} path={state.up} window="" handle={callers}
                            onPlace={(up, _window, isStep) => change({ up }, isStep)} onBack={() => back(callers.current)} />
                    </div>
                )}
                {!isSandwich && tree && <Crumbs tree={tree} zoomed={handle!.canvas.zoomed} rootName={rootName} onZoom={(node) => graph.current?.zoom(node)} />}
                {isSandwich && <h3>Callees</h3>}
                <Graph key="graph" {...common("graph")} isCallers={isCallers} frame={frame} isUp={!isSandwich && state.isFlame} path={state.at} window={state.window} handle={graph}
                    onPlace={(path, window, isStep) => {
                        if (isStep)
                            past.current.push(state.at);
                        change({ at: path, window }, isStep);
                    }} onBack={() => back(graph.current)} />
                <Legend colours={colours} isCompared={model.base !== null} />
                {tree?.isCut && <p class="quiet flame-hint">Stacks of less than a hundred-thousandth are not followed to their end.</p>}
                {chosen && shown
                    ? <Detail facts={chosen} tree={shown.tree} node={selected} isCallers={at === "callers" || isCallers} feed={feed}
                        unit={shown.model.unit} onSandwich={sandwich} onSearch={(search) => change({ search })} />
                    : <p class="quiet flame-hint">{HINT}</p>}
            </div>
            {state.show === "sandwich" && method < 0 && !isEmpty && (
                <p class="quiet flame-hint">{state.method ? `${visible(shorten(state.method, 120))} is not in this view. ` : ""}Choose a method to see who calls it and what it calls.</p>
            )}
            {(state.show === "table" || (state.show === "sandwich" && method < 0)) && !isEmpty
                && <Methods model={model} state={state} colours={colours} matcher={matcher} onMethod={sandwich} />}
            <div class="only-read" aria-live="polite">{said}</div>
            <Tip cell={tip} />
        </>
    );
}

function Legend({ colours, isCompared }: { colours: Colours; isCompared: boolean }) {
    const items = isCompared ? colours.changeLegend() : colours.legend();
    return (
        <div class="flame-legend" aria-label="Colours" role="group">
            {items.map(({ label, colour }, i) => (
                <span key={i}><i ref={(swatch) => { if (swatch) swatch.style.background = colour; }} />{visible(shorten(label, 60))}</span>
            ))}
        </div>
    );
}
