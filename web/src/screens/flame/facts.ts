/* What is known about a box of the graph, in numbers and in words. */
import { aboutFrame, nameForPeople, type About } from "../../../flame/about";
import { changeOf, changeText, type Change } from "../../../flame/change";
import { formatPercent, formatValue } from "../../../flame/text";
import type { Tree } from "../../../flame/tree";
import type { Model } from "./model";

export interface Facts {
    about: About | null; // null: of the root
    name: string;
    total: number;
    self: number | null; // null: boxes of callers have none of their own
    totalText: string;
    selfText: string;
    waitText: string;
    changeText: string;
    sentence: string; // for those who hear it
}

export function changeAt(model: Model, shown: number, other: number): Change {
    return model.isBefore ? changeOf(shown, other) : changeOf(other, shown);
}

const NOUNS: Record<string, string> = { cpu: "CPU time", wall: "Wall time", alloc: "Allocated", exceptions: "Exceptions", contention: "Waiting for locks" };

export function viewNoun(view: string): string {
    return NOUNS[view] ?? view;
}

/* "1.24 s, 22.6 %" */
export function amount(value: number, whole: number, unit: string): string {
    return `${formatValue(value, unit)}, ${formatPercent(value, whole)}`;
}

export function factsOf(tree: Tree, node: number, model: Model, rootName: string, isCallers: boolean, isFocus: boolean): Facts {
    const frame = tree.frame[node]!;
    const about = frame < 0 ? null : aboutFrame(model.calls.words, frame);
    const whole = tree.total[0]!;
    const total = tree.total[node]!;
    const hasSelf = frame >= 0 && (!isCallers || (tree.level[node] === 1 && !isFocus));
    const self = hasSelf ? tree.self[node]! : null;
    const change = model.base ? changeText(changeAt(model, total, tree.base[node]!), model.unit) : "";
    const name = about?.name ?? nameForPeople(rootName);
    const totalText = amount(total, whole, model.unit);
    return {
        about, name, total, self, totalText,
        selfText: self === null ? "" : amount(self, whole, model.unit),
        waitText: tree.wait.length && total > 0 ? formatPercent(tree.wait[node]!, total) : "",
        changeText: change,
        sentence: `${name}${about?.module ? ` in ${about.module}` : ""}: total ${totalText}${self ? `, self ${amount(self, whole, model.unit)}` : ""}` +
            `${change ? `; ${change}` : ""}; level ${tree.level[node]}`,
    };
}
