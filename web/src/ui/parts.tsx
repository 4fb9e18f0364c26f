/* Small parts of screens: notices, empty states, tabs, choices, copying. */
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { clean } from "../format";
import { Icon } from "./icons";
import { toast } from "./toasts";

type Mood = "good" | "warn" | "bad" | "accent" | "";

/* Where it is said that something went wrong: at the corner, or within the dialog that is open. "": nothing. */
export const Complain = createContext<(text: string) => void>((text) => text && toast(text, "bad"));

export function Badge({ mood = "", title, children }: { mood?: Mood; title?: string; children: ComponentChildren }) {
    return <span class={`badge ${mood}`} title={title}>{typeof children === "string" ? clean(children) : children}</span>;
}

/* Something that a person should know, with what to do next at its right. */
export function Notice({ mood = "", action, children }: { mood?: Mood; action?: ComponentChildren; children: ComponentChildren }) {
    return (
        <div class={`notice ${mood}`} role={mood === "bad" || mood === "warn" ? "alert" : "status"}>
            <div>{children}</div>
            {action}
        </div>
    );
}

/* Nothing to show, why, and what to do next. */
export function Empty({ title, action, children }: { title: string; action?: ComponentChildren; children?: ComponentChildren }) {
    return (
        <div class="empty">
            <h2>{title}</h2>
            {children && <p>{children}</p>}
            {action}
        </div>
    );
}

export function Loading({ what }: { what: string }) {
    return <div class="empty" role="status"><p class="quiet">{what}</p></div>;
}

export interface Tab {
    id: string;
    label: string;
    href: string;
}

export function Tabs({ tabs, at, label }: { tabs: Tab[]; at: string; label: string }) {
    const bar = useRef<HTMLElement>(null);
    useEffect(() => bar.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [at]);
    return (
        <nav class="tabs" aria-label={label} ref={bar}>
            {tabs.map((tab) => <a key={tab.id} href={tab.href} aria-current={tab.id === at ? "page" : undefined}>{tab.label}</a>)}
        </nav>
    );
}

/* One of a few: buttons side by side. */
export function Choice<T extends string>({ label, options, value, onChange }: {
    label: string;
    options: readonly (readonly [T, string])[];
    value: T;
    onChange: (value: T) => void;
}) {
    return (
        <div class="choice" role="group" aria-label={label}>
            {options.map(([id, text]) => (
                <button key={id} type="button" aria-pressed={id === value} onClick={() => onChange(id)}>{text}</button>
            ))}
        </div>
    );
}

export function Field({ label, hint, children }: { label: string; hint?: ComponentChildren; children: ComponentChildren }) {
    return (
        <label class="field">
            <span class="label">{label}</span>
            {children}
            {hint && <span class="hint">{hint}</span>}
        </label>
    );
}

export function Card({ title, tools, children, flush = false }: {
    title?: ComponentChildren;
    tools?: ComponentChildren;
    children: ComponentChildren;
    flush?: boolean; // without padding: tables and plots
}) {
    return (
        <section class="card">
            {title !== undefined && <header><h2>{typeof title === "string" ? clean(title) : title}</h2>{tools}</header>}
            {flush ? children : <div class="body">{children}</div>}
        </section>
    );
}

/* Whether it was copied. */
export async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copyBySelection(text); // plain http to another machine has no clipboard
    }
}

/* A dialog keeps the focus: what is to be selected must be within it. */
function copyBySelection(text: string): boolean {
    const before = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "only-read";
    ([...document.querySelectorAll("dialog[open]")].pop() ?? document.body).append(area);
    area.select();
    let isCopied = false;
    try {
        isCopied = document.execCommand("copy");
    } catch {
        // then it is not
    }
    area.remove();
    if (before instanceof HTMLElement)
        before.focus();
    return isCopied;
}

export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
    const complain = useContext(Complain);
    const [isCopied, setCopied] = useState(false);
    useEffect(() => {
        const timer = isCopied ? setTimeout(() => setCopied(false), 2000) : 0;
        return () => clearTimeout(timer);
    }, [isCopied]);
    const copy = async () => {
        const isGood = await copyText(typeof text === "string" ? text : text());
        setCopied(isGood);
        complain(isGood ? "" : "The browser does not let the page copy. Select it and copy.");
    };
    return <button type="button" onClick={() => void copy()}><Icon name="copy" /><span aria-live="polite">{isCopied ? "Copied" : label}</span></button>;
}

/* A button for what takes a while: off meanwhile; what goes wrong is said. */
export function Action({ run, children, kind = "", disabled = false, title }: {
    run: () => Promise<unknown>;
    children: ComponentChildren;
    kind?: "" | "primary" | "danger" | "plain";
    disabled?: boolean;
    title?: string;
}) {
    const [busy, setBusy] = useState(false);
    const complain = useContext(Complain);
    const click = async () => {
        setBusy(true);
        complain("");
        try {
            await run();
        } catch (problem) {
            complain(problem instanceof Error ? problem.message : String(problem));
        } finally {
            setBusy(false);
        }
    };
    return <button type="button" class={kind} disabled={busy || disabled} title={title} onClick={() => void click()}>{children}</button>;
}
