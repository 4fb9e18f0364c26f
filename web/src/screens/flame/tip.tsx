/* What is under the pointer, beside it. Drawn apart from the rest of the screen: it follows every movement. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { placeTip } from "../../../flame/about";
import { fileOf } from "../../../flame/text";
import { Cell, useCell } from "../../store";
import type { Facts } from "./facts";

export interface TipState {
    facts: Facts;
    ofZoomed: string;
    x: number;
    y: number;
}

export type TipCell = Cell<TipState | null>;

function Row({ label, value }: { label: string; value: string }) {
    return value ? <><dt>{label}</dt><dd>{value}</dd></> : null;
}

export function Tip({ cell }: { cell: TipCell }) {
    const state = useCell(cell);
    const place = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        if (state && place.current)
            placeTip(place.current, state.x, state.y);
    });
    if (!state)
        return null;
    const { facts } = state;
    return (
        <div ref={place} class="flame-tip" role="tooltip">
            <strong><bdi>{facts.name}</bdi></strong>
            {facts.about && <div><bdi>{[facts.about.module || facts.about.kind, fileOf(facts.about.source)].filter(Boolean).join(" · ")}</bdi></div>}
            <dl>
                <Row label="Total" value={facts.totalText} />
                <Row label="Self" value={facts.selfText} />
                <Row label="Of the zoomed" value={state.ofZoomed} />
                <Row label="Waits" value={facts.waitText} />
            </dl>
            {facts.changeText && <div>{facts.changeText}</div>}
        </div>
    );
}
