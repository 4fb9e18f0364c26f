/* All about the box or method that is selected, and what one can do with it. */
import type { ComponentChildren } from "preact";
import { fileOf, formatPercent, formatValue, visible } from "../../../flame/text";
import type { Tree } from "../../../flame/tree";
import { CopyButton } from "../../ui/parts";
import type { Facts } from "./facts";
import type { Feed } from "./feed";

const LINES_SHOWN = 4;

export interface DetailProps {
    facts: Facts;
    tree: Tree;
    node: number;
    isCallers: boolean;
    feed: Feed;
    unit: string;
    onSandwich: (frame: number) => void;
    onSearch: (text: string) => void;
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
    return <div><dt>{label}</dt><dd>{children}</dd></div>;
}

/* From the caller to the callee, one a line. */
function stackText(tree: Tree, node: number, isCallers: boolean): string {
    const names = tree.framesTo(node).map((frame) => visible(tree.profile.frames.name[frame] ?? ""));
    return (isCallers ? names.reverse() : names).join("\n");
}

function Lines({ feed, frame, unit }: { feed: Feed; frame: number; unit: string }) {
    const lines = feed.rows.linesOf(frame);
    if (lines.length === 0)
        return null;
    const whole = lines.reduce((sum, line) => sum + line.total, 0);
    return (
        <Fact label={lines.length > 1 ? "Lines" : "Line"}>
            {lines.slice(0, LINES_SHOWN).map((line) => (
                <div key={line.source} class="line">
                    <code>{visible(fileOf(line.source))}</code>
                    {lines.length > 1 && <span class="quiet">{formatValue(line.total, unit)}, {formatPercent(line.total, whole)}</span>}
                </div>
            ))}
            {fileOf(lines[0]!.source) !== lines[0]!.source && <small class="quiet whole-path"><bdi>{visible(lines[0]!.source)}</bdi></small>}
            {lines.length > LINES_SHOWN && <span class="quiet">and {lines.length - LINES_SHOWN} more</span>}
        </Fact>
    );
}

export function Detail({ facts, tree, node, isCallers, feed, unit, onSandwich, onSearch }: DetailProps) {
    const frame = tree.frame[node]!;
    const { about } = facts;
    return (
        <section class="card flame-detail" aria-label="Selected">
            <div>
                <h3><bdi>{facts.name}</bdi></h3>
                <dl>
                    <Fact label="Total">{facts.totalText}</Fact>
                    {facts.selfText && <Fact label="Self">{facts.selfText}</Fact>}
                    {facts.waitText && <Fact label="Waits">{facts.waitText}</Fact>}
                    {facts.changeText && <Fact label="Change">{facts.changeText}</Fact>}
                    {about && <Fact label="Module"><bdi>{about.module || about.kind}</bdi></Fact>}
                    {about && <Lines feed={feed} frame={frame} unit={unit} />}
                </dl>
            </div>
            {frame >= 0 && (
                <div class="row">
                    <button type="button" onClick={() => onSandwich(frame)}>Callers and callees</button>
                    <button type="button" onClick={() => onSearch(tree.profile.frames.name[frame] ?? "")}>Find all</button>
                    <CopyButton text={facts.name} label="Copy name" />
                    <CopyButton text={() => stackText(tree, node, isCallers)} label="Copy stack" />
                </div>
            )}
        </section>
    );
}
