/* What each scope allows, in the words of somebody who has to choose one. Each includes those before it. */
import { SCOPES, type Scope } from "./api";

export interface ScopeText {
    id: Scope;
    title: string;
    text: string; // what it adds to the one before
    goodFor: string;
}

export const SCOPE_TEXTS: readonly ScopeText[] = [
    { id: "metrics", title: "Metrics", text: "See counters and charts.", goodFor: "Dashboards and scrapers" },
    { id: "read", title: "Read", text: "Also see processes, threads, logs and recordings. Values that look like secrets are left out.", goodFor: "People who look into problems" },
    { id: "control", title: "Control", text: "Also start, stop, upload and delete recordings.", goodFor: "People and scripts that record" },
    { id: "attach", title: "Attach", text: "Also change a process: code is run inside it.", goodFor: "Those who may change production" },
    { id: "secrets", title: "Secrets", text: "Also see environments, whole command lines, whole logs and core dumps, and manage keys. Everything.", goodFor: "Administrators" },
];

export function scopeText(scope: Scope): ScopeText | undefined {
    return SCOPE_TEXTS.find((one) => one.id === scope);
}

/* "see counters and charts; also see processes ...": everything up to this one. */
export function allowed(scope: Scope): ScopeText[] {
    return SCOPE_TEXTS.filter((one) => SCOPES.indexOf(one.id) <= SCOPES.indexOf(scope));
}
