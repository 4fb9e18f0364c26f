/* What can be done with a recording: start, stop, delete, share. */
import { useState } from "preact/hooks";
import { patch, path, remove, type Recording } from "../../api";
import { link } from "../../route";
import { Icon } from "../../ui/icons";
import { Action, copyText } from "../../ui/parts";
import { toast } from "../../ui/toasts";
import { Dialog } from "./dialog";
import { titleOf } from "./words";

export function StartButton({ recording }: { recording: Recording }) {
    return (
        <Action kind="primary" run={() => patch(path`recordings/${recording.id}`, { enabled: true })}>
            <Icon name="record" />Start<span class="only-read"> {titleOf(recording)}</span>
        </Action>
    );
}

export function StopButton({ recording }: { recording: Recording }) {
    return (
        <Action disabled={recording.state !== "Running"} run={() => patch(path`recordings/${recording.id}`, { enabled: false })}>
            <Icon name="stop" />Stop<span class="only-read"> {titleOf(recording)}</span>
        </Action>
    );
}

/* Asks first: the file goes too. */
export function DeleteButton({ recording, onDone, withWord = false }: { recording: Recording; onDone?: () => void; withWord?: boolean }) {
    const [isAsking, ask] = useState(false);
    const name = titleOf(recording);
    const run = async () => {
        await remove(path`recordings/${recording.id}`);
        ask(false);
        toast(`${name} was deleted.`);
        onDone?.();
    };
    return (
        <>
            <button type="button" class={withWord ? "danger" : "plain"} aria-label={`Delete ${name}`} title="Delete" onClick={() => ask(true)}>
                <Icon name="trash" />{withWord && <span class="rec-wide-inline">Delete</span>}
            </button>
            {isAsking && (
                <Dialog title="Delete this recording?" onClose={() => ask(false)} foot={(
                    <>
                        <button type="button" onClick={() => ask(false)}>Keep it</button>
                        <Action kind="danger" run={run}><Icon name="trash" />Delete</Action>
                    </>
                )}>
                    <p><b>{name}</b> and its file will be gone for everybody. What was downloaded before stays.</p>
                </Dialog>
            )}
        </>
    );
}

export function ShareButton({ recording }: { recording: Recording }) {
    const share = async () => {
        const isHere = location.hash.startsWith(link(["recording", recording.id]));
        const isGood = await copyText(isHere ? location.href : new URL(link(["recording", recording.id]), document.baseURI).href);
        toast(isGood ? "The link to this view was copied. Whoever opens it needs a key with the scope read."
            : "The browser does not let the page copy. Copy the address of this page instead.", isGood ? "good" : "bad");
    };
    return <button type="button" onClick={() => void share()}><Icon name="link" />Share</button>;
}
