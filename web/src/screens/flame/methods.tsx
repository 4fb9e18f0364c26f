/* The graph's numbers as a table of methods: what each spent itself and with all it called. */
import { useState } from "preact/hooks";
import { aboutFrame, type Matcher } from "../../../flame/about";
import { growth, strengthOf } from "../../../flame/change";
import type { Colours } from "../../../flame/colours";
import { KIND } from "../../../flame/profile";
import { fileOf, formatChange, formatPercent, formatValue } from "../../../flame/text";
import { changeAt } from "./facts";
import type { Model } from "./model";
import { change, type FlameState, type Sort } from "./state";

const PAGE = 100;

export interface MethodsProps {
    model: Model;
    state: FlameState;
    colours: Colours;
    matcher: Matcher | null;
    onMethod: (frame: number) => void;
}

function keyOf(model: Model, sort: Sort): (frame: number) => number {
    const { sums, baseSums } = model;
    if (sort === "change" && baseSums)
        return (frame) => Math.abs(sums.self[frame]! - baseSums.self[frame]!);
    return sort === "total" ? (frame) => sums.total[frame]! : (frame) => sums.self[frame]!;
}

function framesOf({ model, state, matcher }: MethodsProps): number[] {
    const { sums, baseSums, calls } = model;
    const { kind, name } = calls.frames;
    const frames: number[] = [];
    for (let f = 0; f < sums.total.length; f++) {
        if (kind[f] !== KIND.process && (sums.total[f]! > 0 || (baseSums && baseSums.total[f]! > 0)) && (!matcher || matcher(f)))
            frames.push(f);
    }
    const key = keyOf(model, state.sort);
    const sign = state.isUpwards ? -1 : 1;
    return state.sort === "name"
        ? frames.sort((a, b) => sign * (name[a]! < name[b]! ? -1 : 1))
        : frames.sort((a, b) => sign * (key(b) - key(a)) || a - b);
}

function Head({ id, label, state, isNumber = true }: { id: Sort; label: string; state: FlameState; isNumber?: boolean }) {
    const isAt = state.sort === id;
    const isDown = id === "name" ? state.isUpwards : !state.isUpwards;
    const click = () => change({ sort: isAt && !state.isUpwards ? `-${id}` : id });
    return (
        <th scope="col" class={isNumber ? "number" : ""} aria-sort={isAt ? (isDown ? "descending" : "ascending") : undefined}>
            <button type="button" onClick={click}>{label}<span aria-hidden="true">{isAt ? (isDown ? "↓" : "↑") : ""}</span></button>
        </th>
    );
}

function Amount({ value, whole, unit }: { value: number; whole: number; unit: string }) {
    return (
        <>
            <td class="number">{formatValue(value, unit)}</td>
            <td class="number share">
                <i ref={(bar) => { if (bar) bar.style.width = `${(100 * value) / (whole || 1)}%`; }} />
                <span>{formatPercent(value, whole)}</span>
            </td>
        </>
    );
}

function Row({ frame, model, colours, whole, onMethod }: { frame: number; whole: number } & Pick<MethodsProps, "model" | "colours" | "onMethod">) {
    const about = aboutFrame(model.calls.words, frame);
    const { sums, baseSums } = model;
    const changed = baseSums && changeAt(model, sums.self[frame]!, baseSums.self[frame]!);
    const colour = changed ? colours.ofChange(strengthOf(changed, whole)) : colours.of(frame);
    return (
        <tr>
            <th scope="row" class="method">
                <i ref={(swatch) => { if (swatch) swatch.style.background = colour; }} />
                <button type="button" title={about.name} onClick={() => onMethod(frame)}><bdi>{about.short}</bdi></button>
                <small title={about.source}>{[...new Set([about.space, about.module, fileOf(about.source)])].filter(Boolean).join(" · ") || about.kind}</small>
            </th>
            {changed && <td class="number">{formatChange(changed.change, (value) => formatValue(value, model.unit))}</td>}
            {changed && <td class="number">{growth(changed)}</td>}
            <Amount value={sums.self[frame]!} whole={whole} unit={model.unit} />
            <Amount value={sums.total[frame]!} whole={whole} unit={model.unit} />
        </tr>
    );
}

export function Methods(props: MethodsProps) {
    const { model, state, colours, onMethod } = props;
    const [shown, setShown] = useState(PAGE);
    const frames = framesOf(props);
    const whole = Math.max(model.weights.total[0]!, model.base?.total[0] ?? 0);
    return (
        <div class="card flame-methods">
            <div class="scroll" tabIndex={0} role="region" aria-label="Methods">
                <table class="list">
                    <thead>
                        <tr>
                            <Head id="name" label="Method" state={state} isNumber={false} />
                            {model.base && <Head id="change" label="Change of self" state={state} />}
                            {model.base && <th scope="col" class="number">Of before</th>}
                            <Head id="self" label="Self" state={state} />
                            <th scope="col" class="number">Share</th>
                            <Head id="total" label="Total" state={state} />
                            <th scope="col" class="number">Share</th>
                        </tr>
                    </thead>
                    <tbody>
                        {frames.slice(0, shown).map((frame) => <Row key={frame} frame={frame} model={model} colours={colours} whole={whole} onMethod={onMethod} />)}
                    </tbody>
                </table>
            </div>
            <footer class="row">
                <span class="quiet">{Math.min(shown, frames.length)} of {frames.length} {frames.length === 1 ? "method" : "methods"}{props.matcher ? " that match" : ""}</span>
                {frames.length > shown && <button type="button" onClick={() => setShown(shown + 5 * PAGE)}>Show more</button>}
            </footer>
        </div>
    );
}
