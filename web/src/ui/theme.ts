/* Light or dark: as the system has it, unless somebody chose. Colours for canvases come from the style sheet's tokens. */
import { Cell } from "../store";

export type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = (): string | null => {
    try {
        return localStorage.getItem("theme");
    } catch {
        return null; // storage may be switched off
    }
};

function current(): Theme {
    const choice = chosen();
    return choice === "light" || choice === "dark" ? choice : system.matches ? "dark" : "light";
}

export const theme = new Cell<Theme>(current());
const tokens = new Map<string, string>();

function apply(): void {
    tokens.clear();
    document.documentElement.dataset["theme"] = current();
    theme.set(current());
}

export function startTheme(): void {
    system.addEventListener("change", apply);
    apply();
}

export function toggleTheme(): void {
    try {
        localStorage.setItem("theme", theme.value === "dark" ? "light" : "dark");
    } catch {
        // then it lasts as the system says
    }
    apply();
}

/* The colour behind a token such as "--c1", in the theme that is on. */
export function token(name: string): string {
    let value = tokens.get(name);
    if (value === undefined) {
        value = getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
        tokens.set(name, value);
    }
    return value;
}
