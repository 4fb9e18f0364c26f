/* Where we are: `#/process/12/counters?range=300`. All state of a view is in the address, so that a copied link shows the very
 * view. */
import { useEffect, useState } from "preact/hooks";

export interface Route {
    path: string[]; // decoded segments
    params: URLSearchParams;
}

export function parse(hash: string): Route {
    const text = hash.replace(/^#\/?/, "");
    const cut = text.indexOf("?");
    const path = cut < 0 ? text : text.slice(0, cut);
    return {
        path: path.split("/").filter((part) => part !== "").map(decode),
        params: new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1)),
    };
}

function decode(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

/* The address of a view; parameters that are undefined, "" or false are left out. */
export type Params = Record<string, string | number | boolean | undefined | null>;

export function link(path: (string | number)[], params: Params = {}): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) {
        if (value !== undefined && value !== null && value !== "" && value !== false)
            query.set(name, String(value));
    }
    const text = query.toString();
    return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${text ? `?${text}` : ""}`;
}

/* The address of where one is, as text. */
export function addressOf({ path, params }: Route): string {
    return link(path, Object.fromEntries(params));
}

export function go(href: string): void {
    location.hash = href;
}

/* The same view with other parameters; `replace`: "back" does not stop here. */
export function setParams(changes: Params, replace = true): void {
    const route = parse(location.hash);
    const all: Params = Object.fromEntries(route.params);
    const href = link(route.path, { ...all, ...changes });
    if (href === location.hash)
        return;
    if (replace)
        history.replaceState(null, "", href);
    else
        history.pushState(null, "", href);
    dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute(): Route {
    const [route, setRoute] = useState(() => parse(location.hash));
    const { hash } = location;
    useEffect(() => {
        const changed = () => setRoute(parse(location.hash));
        addEventListener("hashchange", changed);
        if (location.hash !== hash)
            changed(); // after it was drawn and before it was watched
        return () => removeEventListener("hashchange", changed);
    }, []);
    return route;
}
