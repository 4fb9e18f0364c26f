/* Elements for the report, which has no framework. Names are only ever put into the page as text. */

type Value = string | number | boolean | null | undefined | ((event: never) => void);

/* `text`: what is in it. `onclick`, ...: who listens. Others are attributes. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Record<string, Value> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
        if (key === "text")
            element.textContent = String(value);
        else if (typeof value === "function")
            element.addEventListener(key.slice(2), value as EventListener);
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(key, value === true ? "" : String(value));
    }
    element.append(...children);
    return element;
}

export async function copyText(text: string): Promise<void> {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = make("textarea", { class: "flame-live" }); // pages from files may not have a clipboard
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}
