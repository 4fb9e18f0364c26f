/* Async methods that wait, on no thread: the same chains counted; and the thread pool. */
import { useState } from "preact/hooks";
import { clean, count } from "../../format";
import { Card } from "../../ui/parts";
import { Frames } from "./place_row";
import { isOwn, type Stacks, type Task } from "./stacks";

const SHOWN = 200;

function TaskRow({ task }: { task: Task }) {
    const [isOpen, setOpen] = useState(false);
    const own = task.frames.find(isOwn);
    const chain = task.frames.slice(0, 6).map((frame) => frame.name).join(" ← ");
    return (
        <details class="entry task-row" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                <b class="count" data-value={task.count}>{count(task.count)}</b>
                <span class="message">
                    <span class={`mono ${own ? "own" : "framework"}`}>{clean((own ?? task.frames[0])?.name ?? "unknown code")}</span>
                    <small class="quiet">{clean(chain)}{task.waitsOn && `, for ${clean(task.waitsOn)}`}</small>
                </span>
            </summary>
            {isOpen && <div class="inside"><Frames frames={task.frames} /></div>}
        </details>
    );
}

/* Those of the program first; else as they come, the most frequent first. */
const ownFirst = (tasks: Task[]): Task[] => [...tasks].sort((a, b) => Number(b.frames.some(isOwn)) - Number(a.frames.some(isOwn)));

export function Tasks({ stacks }: { stacks: Stacks }) {
    const { tasks, pool } = stacks;
    if (!tasks)
        return null;
    const workers = pool && <span class="quiet">Thread pool: {pool.workers} workers; {count(pool.queued)} items queued, and {count(pool.queuedLocal)} in queues of workers</span>;
    return (
        <Card flush title="Async methods that wait, on no thread" tools={workers}>
            {tasks.length
                ? <div class="entries">{ownFirst(tasks).slice(0, SHOWN).map((task) => <TaskRow key={task.object} task={task} />)}</div>
                : <p class="quiet body-text">No async method waits.</p>}
        </Card>
    );
}
