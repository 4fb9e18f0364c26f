/* Files from elsewhere: sent by a button or dropped anywhere on the list, with progress, one after the other. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { apiUrl, type Recording } from "../../api";
import { bytes, percent } from "../../format";
import { go, link, parse } from "../../route";
import { Cell, useCell } from "../../store";
import { Icon } from "../../ui/icons";
import { Notice } from "../../ui/parts";
import { toast } from "../../ui/toasts";

interface Upload {
    id: number;
    file: File;
    sent: number;
    state: "waiting" | "sending" | "reading" | "done" | "failed";
    problem: string;
    href: string; // of the recording it became
    request: XMLHttpRequest | null;
}

export const READABLE = ".nettrace, .sonde.zip, .trace.zip";
const ACCEPTED = ".nettrace,.zip";
const uploads = new Cell<Upload[]>([]);
let next = 1;

function update(one: Upload, changes: Partial<Upload>): void {
    Object.assign(one, changes);
    uploads.set([...uploads.value]);
}

function drop(one: Upload): void {
    uploads.set(uploads.value.filter((other) => other !== one));
}

function problemText(request: XMLHttpRequest): string {
    let detail = "";
    try {
        detail = (JSON.parse(request.responseText) as { detail?: string }).detail ?? "";
    } catch {
        // not a problem of ours: a proxy's page, or nothing
    }
    if (request.status === 403)
        return "Your key may look but not add recordings: that needs the scope control.";
    if (request.status === 413)
        return `It is larger than what may be kept here. ${detail}`;
    if (request.status === 404 || request.status === 405)
        return "This controller takes no uploads. Is it of an older version?";
    return detail || `The controller answered with status ${request.status}.`;
}

/* For who went on to something else meanwhile. */
function announce(one: Upload, href: string): void {
    toast(`${one.file.name} is uploaded: it is in the list of recordings.`, "good");
    uploads.set([...uploads.value, { ...one, id: next++, state: "done", href, request: null }]);
}

function finish(one: Upload, request: XMLHttpRequest): void {
    if (request.status !== 201) {
        update(one, { state: "failed", problem: problemText(request), request: null });
    } else {
        const isLast = uploads.value.every((other) => other === one || other.state === "failed" || other.state === "done");
        drop(one);
        const href = link(["recording", (JSON.parse(request.responseText) as Recording).id]);
        const isAtList = parse(location.hash).path.join("/") === "recordings" && !parse(location.hash).params.has("new");
        if (isLast && isAtList)
            go(href);
        else
            announce(one, href);
    }
    sendNext();
}

function sendNext(): void {
    const one = uploads.value.find((other) => other.state === "waiting");
    if (!one || uploads.value.some((other) => other.state === "sending" || other.state === "reading"))
        return;
    const request = new XMLHttpRequest();
    request.upload.onprogress = (event) => update(one, { sent: event.loaded });
    request.upload.onload = () => update(one, { sent: one.file.size, state: "reading" });
    request.onload = () => finish(one, request);
    request.onerror = () => {
        update(one, { state: "failed", problem: "The connection broke, or the controller ended it. Is 'sonde serve' still running?", request: null });
        sendNext();
    };
    request.onabort = () => {
        drop(one);
        sendNext();
    };
    request.open("POST", apiUrl("recordings/upload", { name: one.file.name }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    update(one, { state: "sending", request });
    request.send(one.file);
}

export function upload(files: Iterable<File>): void {
    const added = [...files].map((file): Upload => {
        const isKnown = /\.(nettrace|zip)$/i.test(file.name);
        const problem = file.size === 0 ? "The file is empty." : isKnown ? "" : `Only ${READABLE} can be read.`;
        return { id: next++, file, sent: 0, state: problem ? "failed" : "waiting", problem, href: "", request: null };
    });
    uploads.set([...uploads.value, ...added]);
    sendNext();
}

function cancel(one: Upload): void {
    if (one.request)
        one.request.abort();
    else
        drop(one);
}

function UploadLine({ one }: { one: Upload }) {
    if (one.state === "failed") {
        return (
            <Notice mood="bad" action={<button type="button" class="plain" aria-label={`Dismiss ${one.file.name}`} onClick={() => drop(one)}><Icon name="close" /></button>}>
                <b>{one.file.name}</b> was not taken. {one.problem}
            </Notice>
        );
    }
    if (one.state === "done") {
        return (
            <Notice mood="good" action={<a class="button" href={one.href} onClick={() => drop(one)}>Open it</a>}><b>{one.file.name}</b> is uploaded.</Notice>
        );
    }
    const share = one.file.size ? one.sent / one.file.size : 0;
    const said = one.state === "waiting" ? "waits for the one before" : one.state === "reading" ? "the controller reads it"
        : `${bytes(one.sent)} of ${bytes(one.file.size)}, ${percent(share)}`;
    return (
        <div class="notice rec-upload">
            <div>
                <b class="cut">{one.file.name}</b> <span class="quiet">{said}</span>
                <div class="meter" role="progressbar" aria-label={`Sending ${one.file.name}`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}>
                    <div style={{ width: `${share * 100}%` }} />
                </div>
            </div>
            <button type="button" onClick={() => cancel(one)}>Cancel</button>
        </div>
    );
}

export function Uploads() {
    const all = useCell(uploads);
    return all.length ? <div class="rec-uploads">{all.map((one) => <UploadLine key={one.id} one={one} />)}</div> : null;
}

export function UploadButton() {
    const input = useRef<HTMLInputElement>(null);
    const chosen = () => {
        const files = input.current?.files;
        if (files?.length)
            upload(files);
        if (input.current)
            input.current.value = "";
    };
    return (
        <>
            <button type="button" onClick={() => input.current?.click()}><Icon name="upload" />Open a file</button>
            <input ref={input} type="file" class="only-read" accept={ACCEPTED} multiple tabIndex={-1} aria-label={`Open a file: ${READABLE}`} onChange={chosen} />
        </>
    );
}

/* Files may be dropped anywhere on what is inside. */
export function DropZone({ isAllowed, children }: { isAllowed: boolean; children: ComponentChildren }) {
    const [depth, setDepth] = useState(0);
    const hasFiles = (event: DragEvent) => isAllowed && Boolean(event.dataTransfer?.types.includes("Files"));
    return (
        <div class="rec-drop-zone"
            onDragEnter={(event) => { if (hasFiles(event)) { event.preventDefault(); setDepth((before) => before + 1); } }}
            onDragOver={(event) => { if (hasFiles(event)) event.preventDefault(); }}
            onDragLeave={(event) => { if (hasFiles(event)) setDepth((before) => Math.max(0, before - 1)); }}
            onDrop={(event) => {
                if (!hasFiles(event))
                    return;
                event.preventDefault();
                setDepth(0);
                upload(event.dataTransfer?.files ?? []);
            }}>
            {children}
            {depth > 0 && <div class="rec-drop-sign" aria-hidden="true"><Icon name="upload" size={32} />Drop it to open: {READABLE}</div>}
        </div>
    );
}
