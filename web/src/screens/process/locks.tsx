/* Who holds and who waits for locks and static constructors, and circles of them: threads that wait for each other forever. */
import { clean } from "../../format";
import { Badge, Card, Notice } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { isConstructor, labelOf, lockText, ownerVerb, type Circle, type Lock, type Stacks } from "./stacks";

const SHOWN = 200;

function Steps({ stacks, circle }: { stacks: Stacks; circle: Circle }) {
    return (
        <ol class="circle">
            {circle.map(({ thread, waitsFor, heldBy }) => {
                const lock = stacks.locks?.[waitsFor];
                return <li key={thread}><b>{clean(labelOf(stacks, thread))}</b> waits for {lock ? clean(lockText(lock)) : "a lock"}, {ownerVerb(lock)} <b>{clean(labelOf(stacks, heldBy))}</b></li>;
            })}
        </ol>
    );
}

export function Deadlocks({ stacks }: { stacks: Stacks }) {
    const circles = stacks.deadlocks ?? [];
    if (circles.length === 0)
        return null;
    return (
        <Notice mood="bad">
            <div data-testid="deadlocks">
                <b>{circles.length === 1 ? "Deadlock" : `${circles.length} deadlocks`}: threads wait for each other, and will forever.</b>
                {circles.map((circle, i) => <Steps key={i} stacks={stacks} circle={circle} />)}
            </div>
        </Notice>
    );
}

function columnsOf(stacks: Stacks): Column<Lock>[] {
    return [
        { id: "type", label: "Of", sort: (lock) => lock.type, cell: (lock) => <span class="place"><span class="mono">{clean(lock.type)}</span><small class="quiet">{isConstructor(lock) ? lock.kind : `${lock.kind} at ${lock.object}`}</small></span> },
        { id: "owner", label: "Held or run by", sort: (lock) => lock.owner ?? 0, cell: (lock) => (lock.owner === undefined ? "nobody that is known" : clean(`${labelOf(stacks, lock.owner)}${lock.depth > 1 ? `, ${lock.depth} times` : ""}`)) },
        { id: "waiters", label: "Waited for by", class: "breaks", sort: (lock) => lock.waiters.length, cell: (lock) => clean(lock.waiters.slice(0, 8).map((id) => labelOf(stacks, id)).join(", ")) + (lock.waiters.length > 8 ? ` and ${lock.waiters.length - 8} more` : "") },
        { id: "deadlock", label: "", cell: (lock) => lock.deadlock && <Badge mood="bad">deadlock</Badge> },
    ];
}

export function Locks({ stacks }: { stacks: Stacks }) {
    const locks = stacks.locks ?? [];
    if (locks.length === 0)
        return null;
    return (
        <Card flush title={`Locks: ${locks.length} held or waited for`}>
            <Table rows={locks.slice(0, SHOWN)} columns={columnsOf(stacks)} rowKey={(lock) => lock.object} caption="Locks" />
        </Card>
    );
}
