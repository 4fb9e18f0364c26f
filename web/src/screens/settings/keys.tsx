/* The keys of the controller: made with a scope, shown once, revoked; and one-time links. */
import { useState } from "preact/hooks";
import { path, post, remove, type Scope } from "../../api";
import { moment } from "../../format";
import { SCOPE_TEXTS } from "../../scopes";
import { session, useCell } from "../../store";
import { Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icons";
import { Action, Badge, Card, CopyButton, Empty, Field, Loading, Notice } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import { toast } from "../../ui/toasts";
import { Command, sentence } from "../login";
import { ago, useReading, type Key, type NewKey } from "./shapes";

const EXPIRIES: readonly (readonly [seconds: number, label: string])[] = [
    [0, "Never, until it is revoked"],
    [3600, "In an hour"],
    [86400, "In a day"],
    [30 * 86400, "In 30 days"],
    [90 * 86400, "In 90 days"],
    [365 * 86400, "In a year"],
];

function ScopeChoice({ value, onChange }: { value: Scope; onChange: (scope: Scope) => void }) {
    return (
        <fieldset class="scope-choice">
            <legend>What it may do</legend>
            {SCOPE_TEXTS.map((one) => (
                <label key={one.id}>
                    <input type="radio" name="scope" value={one.id} checked={one.id === value} onChange={() => onChange(one.id)} />
                    <span><b>{one.title}</b> <span class="quiet">{one.goodFor}</span><br />{one.text}</span>
                </label>
            ))}
        </fieldset>
    );
}

function Made({ made, onClose }: { made: NewKey; onClose: () => void }) {
    return (
        <Dialog title={`The key ${made.name}`} onClose={onClose} canCancel={false}>
            <Notice mood="warn">Copy it now: it is shown this once, and nobody can look it up later.</Notice>
            <div class="secret"><code data-test="token">{made.token}</code><CopyButton text={made.token} label="Copy key" /></div>
            <p>Scope <b>{made.scope}</b>, {made.expires ? `until ${moment(made.expires)}` : "until it is revoked"}. Browsers log in with it; programs send it along:</p>
            <Command text={`curl -H "Authorization: Bearer KEY" ${new URL("api/v1/counters", document.baseURI).href}`} />
            <div class="row end"><button type="button" class="primary" onClick={onClose}>I have copied it</button></div>
        </Dialog>
    );
}

function NewKeyDialog({ onMade, onClose }: { onMade: (made: NewKey) => void; onClose: () => void }) {
    const [name, setName] = useState("");
    const [scope, setScope] = useState<Scope>("read");
    const [expires, setExpires] = useState(0);
    const [error, setError] = useState("");
    const submit = async (event: Event) => {
        event.preventDefault();
        setError("");
        try {
            const until = expires ? new Date(Date.now() + expires * 1000).toISOString() : null;
            onMade(await post<NewKey>("keys", { name: name.trim(), scope, expires: until }));
        } catch (problem) {
            setError(sentence((problem as Error).message));
        }
    };
    return (
        <Dialog title="New key" onClose={onClose} error={error}>
            <form class="stack" onSubmit={(event) => void submit(event)}>
                <Field label="Name" hint="Letters, digits and . _ @ -; the audit log calls it by this name.">
                    <input type="text" required maxLength={64} pattern="[A-Za-z0-9._@\-]+" placeholder="grafana" value={name} autocomplete="off"
                        onInput={(event) => setName(event.currentTarget.value)} />
                </Field>
                <ScopeChoice value={scope} onChange={setScope} />
                <Field label="Ends">
                    <select value={String(expires)} onChange={(event) => setExpires(Number(event.currentTarget.value))}>
                        {EXPIRIES.map(([seconds, label]) => <option key={seconds} value={String(seconds)}>{label}</option>)}
                    </select>
                </Field>
                <div class="row end">
                    <button type="button" onClick={onClose}>Cancel</button>
                    <button type="submit" class="primary">Make key</button>
                </div>
            </form>
        </Dialog>
    );
}

function RevokeDialog({ item, onDone, onClose }: { item: Key; onDone: () => Promise<void>; onClose: () => void }) {
    const who = useCell(session);
    const isOurs = who?.kind === "session" && who.name === item.name;
    const revoke = async () => {
        await remove(path`keys/${item.id}`);
        toast(`Revoked ${item.name}.`, "good");
        onClose();
        await onDone();
    };
    return (
        <Dialog title={`Revoke ${item.name}?`} onClose={onClose}>
            <p>Whoever uses it is refused from the next request on, and browsers that logged in with it are logged out. A revoked key cannot be brought back.</p>
            {isOurs && <Notice mood="warn">You are logged in with this key: the page will ask for another one.</Notice>}
            {item.id === "default" && <Notice mood="warn">This is the key in the controller's own state folder, which scripts of this machine use. The controller makes another one at its next start.</Notice>}
            <div class="row end">
                <button type="button" onClick={onClose}>Keep it</button>
                <Action kind="danger" run={revoke}>Revoke</Action>
            </div>
        </Dialog>
    );
}

interface Link {
    code: string;
    expires: string;
}

function LinkDialog({ made, onClose }: { made: Link; onClose: () => void }) {
    const url = `${location.origin}${location.pathname}#code=${made.code}`;
    return (
        <Dialog title="A link for another browser" onClose={onClose}>
            <p>Whoever opens it first, until {moment(made.expires)}, is logged in with every scope. For somebody who needs less, make a key instead.</p>
            <div class="secret"><code data-test="link">{url}</code><CopyButton text={url} label="Copy link" /></div>
            <div class="row end"><button type="button" class="primary" onClick={onClose}>Done</button></div>
        </Dialog>
    );
}

function columns(revoke: (item: Key) => void): Column<Key>[] {
    return [
        { id: "name", label: "Name", sort: (key) => key.name, cell: (key) => <b>{key.name}</b> },
        { id: "scope", label: "Scope", sort: (key) => SCOPE_TEXTS.findIndex((one) => one.id === key.scope), cell: (key) => <Badge mood="accent">{key.scope}</Badge> },
        { id: "created", label: "Made", class: "wide-only", sort: (key) => key.created, cell: (key) => moment(key.created) },
        {
            id: "expires", label: "Ends", sort: (key) => key.expires ?? "9",
            cell: (key) => (key.isOver ? <Badge mood="bad">expired {moment(key.expires)}</Badge> : key.expires ? moment(key.expires) : "never"),
        },
        { id: "used", label: "Last used", class: "wide-only", sort: (key) => key.lastUsed ?? "", cell: (key) => ago(key.lastUsed, "not since the start") },
        {
            id: "revoke", label: "", class: "number",
            cell: (key) => <button type="button" class="danger" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>Revoke</button>,
        },
    ];
}

export function Keys() {
    const { data, error, refresh } = useReading<{ keys: Key[]; problem: string }>("keys", 5000);
    const [isAsking, setAsking] = useState(false);
    const [made, setMade] = useState<NewKey | null>(null);
    const [revoked, setRevoked] = useState<Key | null>(null);
    const [invite, setInvite] = useState<Link | null>(null);
    const take = (key: NewKey) => {
        setAsking(false);
        setMade(key);
        void refresh();
    };
    const tools = (
        <div class="row">
            <Action run={async () => setInvite(await post<Link>("links", undefined))}><Icon name="link" />New link</Action>
            <button type="button" class="primary" onClick={() => setAsking(true)}>New key</button>
        </div>
    );
    return (
        <Card title="Keys" tools={tools} flush>
            <p class="lead quiet">One for each person and program: then one can be revoked without the others, and the audit log says who did what.</p>
            {error && <Notice mood="bad" action={<Action run={refresh}>Try again</Action>}>{sentence(error)}</Notice>}
            {data?.problem && <Notice mood="bad">No key counts at present: {sentence(data.problem)}</Notice>}
            {!data && !error && <Loading what="Reading the keys…" />}
            {data && data.keys.length === 0 && <Empty title="There are no keys">Nobody but the programs of this machine gets in. Make one for each person and program.</Empty>}
            {data && data.keys.length > 0 && <Table rows={data.keys} columns={columns(setRevoked)} rowKey={(key) => key.id} start={{ id: "created", down: true }} caption="Keys" />}
            {isAsking && <NewKeyDialog onMade={take} onClose={() => setAsking(false)} />}
            {made && <Made made={made} onClose={() => setMade(null)} />}
            {revoked && <RevokeDialog item={revoked} onDone={refresh} onClose={() => setRevoked(null)} />}
            {invite && <LinkDialog made={invite} onClose={() => setInvite(null)} />}
        </Card>
    );
}
