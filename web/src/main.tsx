/* Where the page begins: the theme, the shell, and the log-in that a link brings. */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/ui.css";
import { render } from "preact";
import { get, post, type Session } from "./api";
import { App } from "./app";
import { logIn } from "./store";
import { Boundary } from "./ui/boundary";
import { startTheme } from "./ui/theme";
import { toast } from "./ui/toasts";

/* The code of a one-time link is good once: it does not stay in the address. */
async function redeem(): Promise<void> {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (!code)
        return;
    history.replaceState(null, "", `${location.pathname}#/`);
    try {
        await post("session", { code });
    } catch (problem) {
        const who = await get<Session>("session").catch(() => null);
        if (!who || who.scope === "none")
            toast((problem as Error).message, "bad");
    }
}

async function start(): Promise<void> {
    startTheme();
    const redeemed = redeem(); // the code is out of the address before anything reads it
    render(<Boundary at=""><App /></Boundary>, document.getElementById("app")!);
    await redeemed;
    await logIn();
}

void start();
