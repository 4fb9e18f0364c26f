/* For a page without a session: paste a key, or get a link; what each scope allows. */
import { useState } from "preact/hooks";
import { reaches, type Scope } from "../api";
import { SCOPE_TEXTS } from "../scopes";
import { endedBecause, logInWithKey } from "../session";
import { session, useCell } from "../store";
import { Icon } from "../ui/icons";
import { Badge, CopyButton, Notice } from "../ui/parts";
import { theme, toggleTheme } from "../ui/theme";
import "./login.css";

/* A key is 256 random bits behind a word: what is pasted with spaces or the header around it is forgiven. */
export function cleanKey(text: string): string {
    return text.trim().replace(/^authorization:\s*/i, "").replace(/^bearer\s+/i, "").trim();
}

export function KeyForm({ label, onDone }: { label: string; onDone?: () => void }) {
    const [text, setText] = useState("");
    const [error, setError] = useState("");
    const [busy, setBusy] = useState(false);
    const submit = async (event: Event) => {
        event.preventDefault();
        setBusy(true);
        setError("");
        try {
            await logInWithKey(cleanKey(text));
            setText("");
            onDone?.();
        } catch (problem) {
            setError((problem as Error).message);
        } finally {
            setBusy(false);
        }
    };
    return (
        <form class="key-form" onSubmit={(event) => void submit(event)}>
            <label class="field">
                <span class="label">Key</span>
                <input type="password" name="key" autocomplete="current-password" spellcheck={false} placeholder="sonde_…" required value={text}
                    aria-invalid={error !== ""} aria-describedby={error ? "key-error" : undefined} onInput={(event) => setText(event.currentTarget.value)} />
            </label>
            <button type="submit" class="primary" disabled={busy || cleanKey(text) === ""}>{label}</button>
            {error && <p id="key-error" class="key-error" role="alert">{sentence(error)} Check that it was copied whole; <code>sonde key list</code> shows which keys there are.</p>}
        </form>
    );
}

export function sentence(text: string): string {
    const whole = /^\w+:\/\//.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1); // addresses stay as they are
    return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

export function Command({ text }: { text: string }) {
    return <div class="command-line"><code>{text}</code><CopyButton text={text} label="Copy" /></div>;
}

export function ScopeList({ has }: { has?: Scope }) {
    return (
        <ol class="scope-list">
            {SCOPE_TEXTS.map((one) => (
                <li key={one.id}>
                    <Badge mood={has && reaches(has, one.id) ? "good" : "accent"}>{one.id}</Badge>
                    <span>{one.text}{has && !reaches(has, one.id) && <span class="only-read"> You may not.</span>}</span>
                </li>
            ))}
        </ol>
    );
}

function GetIn() {
    return (
        <section>
            <h2>No key at hand?</h2>
            <p>On the machine where the controller runs, as the user who started it:</p>
            <h3>A link for this browser</h3>
            <p class="quiet">Good once, for ten minutes. Opens everything.</p>
            <Command text="sonde key link" />
            <h3>A key to keep</h3>
            <p class="quiet">With just the scope that is needed.</p>
            <Command text="sonde key add --scope read" />
        </section>
    );
}

function ThemeSwitch() {
    const isDark = useCell(theme) === "dark";
    return (
        <button type="button" class="plain" onClick={toggleTheme} aria-label={isDark ? "Use the light theme" : "Use the dark theme"}>
            <Icon name={isDark ? "sun" : "moon"} />
        </button>
    );
}

export function Login(_props: object) {
    const why = useCell(endedBecause);
    useCell(session);
    return (
        <main class="login">
            <header class="login-head">
                <h1><Icon name="logo" size={28} />sonde</h1>
                <ThemeSwitch />
            </header>
            <div class="card">
                <section>
                    <h2>Log in</h2>
                    {why ? <Notice mood="warn">Your session has ended: {sentence(why)}</Notice>
                        : <p>This controller shows its processes to those who have a key.</p>}
                    <KeyForm label="Log in" />
                </section>
                <GetIn />
            </div>
            <section class="scopes">
                <h2>What keys allow</h2>
                <p class="quiet">Each scope includes those above it.</p>
                <ScopeList />
            </section>
        </main>
    );
}
