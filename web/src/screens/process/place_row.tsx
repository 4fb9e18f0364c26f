/* One place of the threads tab: who is there, what they do, and how they came there. */
import { useState } from "preact/hooks";
import { clean, span } from "../../format";
import { Badge } from "../../ui/parts";
import { doingOf, isConstructor, isOwn, labelOf, lockText, namesOf, ownerVerb, stillness, type Change, type Seen, type StackFrame, type Stacks, type Still, type Thread } from "./stacks";

const LEAST = 2; // seconds: what has not run for less is nothing to speak of

function ChangeBadge({ change }: { change: Change }) {
    if (!change)
        return null;
    if (change.kind === "new")
        return <Badge mood="accent" title="Nobody was here at the last look">new</Badge>;
    return <Badge mood="accent" title="More or fewer threads than at the last look">{change.by > 0 ? `+${change.by}` : `−${-change.by}`}</Badge>;
}

function frameTitle({ name, signature, module, file, line }: StackFrame): string {
    return clean(`${name}${signature ?? ""} ${module ?? ""}${file ? ` ${file}:${line ?? 0}` : ""}`);
}

const classOf = (frame: StackFrame): string => (frame.kind === "native" || frame.kind === "kernel" ? `framework ${frame.kind}` : isOwn(frame) ? "own" : "framework");

export function Frames({ frames }: { frames: StackFrame[] }) {
    return (
        <ol class="frames">
            {frames.map((frame, i) => (
                <li key={i} class={classOf(frame)} title={frameTitle(frame)}>
                    {clean(frame.name)} <small>{clean(frame.file ? `${frame.file.replace(/^.*[\\/]/, "")}:${frame.line ?? 0}` : frame.module ?? "")}</small>
                </li>
            ))}
        </ol>
    );
}

function Notes({ thread, stacks }: { thread: Thread; stacks: Stacks }) {
    const lock = thread.waitsFor === undefined ? undefined : stacks.locks?.[thread.waitsFor];
    return (
        <li>
            {clean(labelOf(stacks, thread.id))}
            {thread.exception && <> has <b>{clean(thread.exception)}</b> in flight{thread.message && <>: “{clean(thread.message)}”</>}</>}
            {thread.exception && lock && "; it"}
            {lock && <> waits for {clean(lockText(lock))}{lock.owner !== undefined && <>, {ownerVerb(lock)} {clean(labelOf(stacks, lock.owner))}</>}</>}
        </li>
    );
}

function Badges({ seen, stacks, still }: { seen: Seen; stacks: Stacks; still: Still }) {
    const { threads } = seen.place;
    const seconds = stillness(seen.place, still, stacks.time);
    const awaited = threads.flatMap((thread) => (thread.waitsFor === undefined ? [] : stacks.locks?.[thread.waitsFor] ?? []));
    const thing = awaited.every(isConstructor) ? "a static constructor" : "a lock";
    return (
        <span class="row marks">
            {threads.some((thread) => thread.exception) && <Badge mood="warn" title="An exception is on its way">exception</Badge>}
            {awaited.length > 0 && <Badge mood={awaited.some((lock) => lock.deadlock) ? "bad" : "warn"} title={`Waits for ${thing} that another thread ${thing === "a lock" ? "holds" : "runs"}`}>waits for {thing}</Badge>}
            {threads.some((thread) => thread.doing === "running") && <Badge mood="good" title="On a CPU, or ready for one">running</Badge>}
            {seconds >= LEAST && <Badge title="Nobody here has run since">not moved for {span(Math.round(seconds))}</Badge>}
            <ChangeBadge change={seen.change} />
        </span>
    );
}

export function PlaceRow({ seen, stacks, still }: { seen: Seen; stacks: Stacks; still: Still }) {
    const [isOpen, setOpen] = useState(false);
    const { place, own } = seen;
    const inner = place.frames.find((frame) => frame.kind === "managed") ?? place.frames[0];
    const names = namesOf(place);
    const doing = doingOf(place);
    const noted = place.threads.filter((thread) => thread.exception || thread.waitsFor !== undefined);
    const who = names.slice(0, 3).map(([name, count]) => (count > 1 ? `${name} × ${count}` : name)).join(", ");
    return (
        <details class="entry place-row" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                <b class="count" data-value={place.threads.length}>{place.threads.length}</b>
                <span class="message">
                    <span class={`mono ${own ? "own" : "framework"}`}>{clean((own ?? inner)?.name ?? (doing === "running" ? "it runs, and was not held to look" : "no managed code"))}</span>
                    {own && inner && own !== inner && <span class="mono framework"> in {clean(inner.name)}</span>}
                    <small class="quiet">{clean(who)}{names.length > 3 ? ` and ${names.length - 3} more names` : ""}{doing && `: ${doing}`}</small>
                </span>
                <Badges seen={seen} stacks={stacks} still={still} />
            </summary>
            {isOpen && (
                <div class="inside">
                    {noted.length > 0 && <ul class="notes">{noted.map((thread) => <Notes key={thread.id} thread={thread} stacks={stacks} />)}</ul>}
                    <Frames frames={place.frames} />
                    <p class="quiet">Threads {place.threads.map((thread) => thread.id).join(", ")}</p>
                </div>
            )}
        </details>
    );
}
