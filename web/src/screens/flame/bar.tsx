/* The controls above a flame graph: what is counted, how it is shown, and the search. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../ui/icons";
import { Choice } from "../../ui/parts";
import { change, COLOURS, SHOWS, VIEWS, type FlameState } from "./state";

const TYPING_MS = 150;
const SPANS = [[0, "all so far"], [10, "last 10 s"], [30, "last 30 s"], [60, "last minute"]] as const;

function Select({ label, value, options, onChange }: {
    label: string;
    value: string;
    options: readonly (readonly [string, string])[];
    onChange: (value: string) => void;
}) {
    return (
        <label class="flame-field">
            <span>{label}</span>
            <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
                {options.map(([id, text]) => <option key={id} value={id}>{text}</option>)}
            </select>
        </label>
    );
}

export function ViewBar({ state, isGrowing, children }: { state: FlameState; isGrowing: boolean; children: ComponentChildren }) {
    return (
        <div class="flame-row">
            <Choice label="What is counted" options={VIEWS} value={state.view} onChange={(view) => change({ view, window: "" })} />
            {isGrowing && (
                <Select label="Time" value={String(state.last)} options={SPANS.map(([id, text]) => [String(id), text] as const)}
                    onChange={(last) => change({ last: last === "0" ? "" : last })} />
            )}
            <div class="flame-end">{children}</div>
        </div>
    );
}

export function ShapeBar({ state, isCompared, children }: { state: FlameState; isCompared: boolean; children: ComponentChildren }) {
    const isGraph = state.show === "graph";
    return (
        <div class="flame-row flame-shape">
            <Choice label="How it is shown" options={SHOWS} value={state.show} onChange={(show) => change({ show: show === "graph" ? "" : show }, true)} />
            {isGraph && (
                <Choice label="Order" options={[["callees", "Top down"], ["callers", "Inverted"]] as const} value={state.isInverted ? "callers" : "callees"}
                    onChange={(order) => change({ order: order === "callers" ? order : "", at: "", window: "" }, true)} />
            )}
            {isGraph && (
                <Choice label="Direction" options={[["down", "Icicle"], ["up", "Flame"]] as const} value={state.isFlame ? "up" : "down"}
                    onChange={(direction) => change({ direction: direction === "up" ? direction : "" })} />
            )}
            {!isCompared && <Select label="Colour by" value={state.colour} options={COLOURS} onChange={(colour) => change({ colour: colour === "module" ? "" : colour })} />}
            {children}
        </div>
    );
}

export interface SearchProps {
    text: string;
    said: string; // "12.3 % in 4 places"
    at: number; // which of them is selected; -1: none
    count: number;
    box: { current: HTMLInputElement | null };
    onStep: (step: number) => void;
    onLeave: () => void;
}

export function Search({ text, said, at, count, box, onStep, onLeave }: SearchProps) {
    const [typed, setTyped] = useState(text);
    const timer = useRef(0);
    useEffect(() => setTyped(text), [text]);
    useEffect(() => () => clearTimeout(timer.current), []);
    const type = (value: string) => {
        setTyped(value);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => change({ search: value }), TYPING_MS) as unknown as number;
    };
    const onKey = (event: KeyboardEvent) => {
        if (event.key === "Escape") {
            type("");
            onLeave();
        } else if (event.key === "Enter") {
            onStep(event.shiftKey ? -1 : 1);
        } else {
            return;
        }
        event.preventDefault();
    };
    return (
        <div class="flame-search" role="search">
            <input ref={box} type="search" placeholder="Search methods  ( / )" aria-label="Search methods" spellcheck={false} autocomplete="off"
                value={typed} onInput={(event) => type(event.currentTarget.value)} onKeyDown={onKey} />
            {text && (
                <>
                    <span class="flame-matched">{said}</span>
                    <span class="only-read" role="status">{said ? (count ? "Found" : "Not found") : ""}</span>
                    <button type="button" class="plain" disabled={count === 0} onClick={() => onStep(-1)} aria-label="Previous match" title="Previous match (Shift and Enter)"><Icon name="back" /></button>
                    <span class="quiet">{count ? `${at + 1} / ${count}` : ""}</span>
                    <button type="button" class="plain flip" disabled={count === 0} onClick={() => onStep(1)} aria-label="Next match" title="Next match (Enter)"><Icon name="back" /></button>
                </>
            )}
        </div>
    );
}
