/* Who you are to the controller, and who else may get in. */
import { useState } from "preact/hooks";
import { reaches, type Session } from "../../api";
import { allowed } from "../../scopes";
import { logOut } from "../../session";
import { Action, Badge, Card, Notice } from "../../ui/parts";
import { Command, KeyForm, ScopeList } from "../login";
import { Keys } from "./keys";

const KINDS: Record<string, string> = {
    session: "a browser session",
    key: "a key",
    jwt: "a token",
    peer: "the control socket",
    certificate: "a client certificate",
    anonymous: "nobody in particular: this controller lets everybody in this far",
};

function describe(who: Session): string {
    if (who.kind === "session")
        return who.name.startsWith("browser") ? "logged in by a link" : `logged in with the key ${who.name}`;
    return KINDS[who.kind] ?? who.kind;
}

function You({ who }: { who: Session }) {
    const [isChanging, setChanging] = useState(false);
    const tools = (
        <div class="row">
            <button type="button" aria-expanded={isChanging} onClick={() => setChanging(!isChanging)}>Use another key</button>
            {who.kind === "session" && <Action run={logOut}>Log out</Action>}
        </div>
    );
    return (
        <Card title="You" tools={tools}>
            <div class="stack">
                <p class="row"><Badge mood="accent">{who.scope}</Badge><span>You are {describe(who)}.</span></p>
                {isChanging && <KeyForm label="Use this key" onDone={() => setChanging(false)} />}
                {allowed(who.scope).length < 5
                    ? <ScopeList has={who.scope} />
                    : <p class="quiet">You may do everything that this controller does.</p>}
            </div>
        </Card>
    );
}

export function AccessTab({ who }: { who: Session }) {
    return (
        <>
            <You who={who} />
            {reaches(who.scope, "secrets") ? <Keys /> : <NoKeys who={who} />}
        </>
    );
}

function NoKeys({ who }: { who: Session }) {
    return (
        <Card title="Keys">
            <div class="stack">
                <Notice>Seeing and making keys needs the scope <b>secrets</b>; you have <b>{who.scope}</b>. Use a key that reaches so far, or make keys on the machine itself:</Notice>
                <Command text="sonde key add --scope read --name grafana" />
                <Command text="sonde key list" />
            </div>
        </Card>
    );
}
