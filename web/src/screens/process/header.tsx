/* The head of a process: what it is, how it is now, what one can do with it. */
import { reaches, type Process } from "../../api";
import { bytes, percent, span } from "../../format";
import { link } from "../../route";
import { session, upNow, useCell, useSeconds } from "../../store";
import { Icon } from "../../ui/icons";
import { Badge, CopyButton } from "../../ui/parts";
import type { Frame } from "./frames";
import { nowOf } from "./meanings";

function Stat({ id, label, value, text }: { id: string; label: string; value: number | null; text: string }) {
    return (
        <div class="stat">
            <span class="quiet">{label}</span>
            <b data-testid={id} data-value={value ?? ""}>{text}</b>
        </div>
    );
}

/* The history knows of a process what it saw of it: it may have run for longer. */
export function upLabel(hasEnded: boolean, wasHere: boolean): string {
    return !hasEnded ? "Up" : wasHere ? "Ran for" : "Watched for";
}

/* Counted here: the list of processes comes when it changes. */
function Up({ process, hasEnded, wasHere }: { process: Process; hasEnded: boolean; wasHere: boolean }) {
    useSeconds(!hasEnded);
    const up = hasEnded ? process.upSeconds : upNow(process);
    return <Stat id="up" label={upLabel(hasEnded, wasHere)} value={up} text={span(up)} />;
}

export function Header({ process, live, hasEnded, wasHere }: { process: Process; live: Frame | null; hasEnded: boolean; wasHere: boolean }) {
    const scope = useCell(session)?.scope ?? "none";
    const mayRecord = reaches(scope, "control") && !hasEnded && process.isReachable;
    const cpu = nowOf(live, "cpu");
    const memory = nowOf(live, "memory") ?? (process.rssBytes || null);
    return (
        <header class="process-head">
            <div class="head">
                <h1 class="grow name" data-testid="process-name">{process.name}</h1>
                <div class="stats">
                    <Stat id="now-cpu" label="CPU" value={cpu} text={cpu === null ? "–" : percent(cpu)} />
                    <Stat id="now-memory" label="Memory" value={memory} text={memory === null ? "–" : bytes(memory)} />
                    {process.upSeconds > 0 && <Up process={process} hasEnded={hasEnded} wasHere={wasHere} />}
                </div>
                {!hasEnded && reaches(scope, "read") && (
                    <div class="row">
                        {mayRecord && <a class="button" href={link(["recordings"], { new: process.pid })}><Icon name="record" />Record</a>}
                        {process.isReachable
                            ? <a class="button primary" href={link(["process", process.pid, "flame"])}>Flame graph</a>
                            : <a class="button primary" href={link(["process", process.pid, "threads"])}>Threads</a>}
                    </div>
                )}
            </div>
            <div class="row">
                {hasEnded && <Badge mood="warn">ended</Badge>}
                <Badge>pid {process.pid}</Badge>
                {process.runtime && <Badge mood="accent">.NET {process.runtime}</Badge>}
                {process.container && <Badge title={process.container}>container {process.container.slice(0, 12)}</Badge>}
                {process.user && <Badge>user {process.user}</Badge>}
                {process.architecture && <Badge>{process.architecture}</Badge>}
            </div>
            {process.commandLine && (
                <details class="command">
                    <summary><code class="cut">{process.commandLine}</code></summary>
                    <div class="row"><code class="whole">{process.commandLine}</code><CopyButton text={process.commandLine} /></div>
                </details>
            )}
        </header>
    );
}
