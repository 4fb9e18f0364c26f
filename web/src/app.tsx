/* The shell: header, where one is, what is wrong, and the screen of the route. */
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reaches } from "./api";
import { addressOf, useRoute, type Route } from "./route";
import { Login } from "./screens/login";
import { ProcessScreen } from "./screens/process";
import { Processes } from "./screens/processes";
import { RecordingScreen } from "./screens/recording";
import { Recordings } from "./screens/recordings";
import { Settings } from "./screens/settings";
import { connection, info, session, useCell, useHealth } from "./store";
import { Boundary } from "./ui/boundary";
import { Icon } from "./ui/icons";
import { Empty, Loading, Notice } from "./ui/parts";
import { theme, toggleTheme } from "./ui/theme";
import { Toasts } from "./ui/toasts";

export interface ScreenProps {
    route: Route;
}

/* The first segment of the route names the screen; those with a label are in the header. */
const SCREENS: { id: string; label?: string; title: string; screen: ComponentType<ScreenProps> }[] = [
    { id: "", label: "Processes", title: "Processes", screen: Processes },
    { id: "process", title: "Process", screen: ProcessScreen },
    { id: "recordings", label: "Recordings", title: "Recordings", screen: Recordings },
    { id: "recording", title: "Recording", screen: RecordingScreen },
    { id: "settings", label: "Settings", title: "Settings", screen: Settings },
];

const PARENT: Record<string, string> = { process: "", recording: "recordings" };

function Header({ at }: { at: string }) {
    const who = useCell(info);
    return (
        <header class="top">
            <a class="brand" href="#/"><Icon name="logo" size={20} />sonde</a>
            <nav aria-label="Main">
                {SCREENS.filter((one) => one.label).map((one) => (
                    <a key={one.id} href={`#/${one.id}`} aria-current={one.id === (PARENT[at] ?? at) ? "page" : undefined}>{one.label}</a>
                ))}
            </nav>
            <div class="right">
                {who && <span class="quiet cut" title={`sonde ${who.version} on ${who.host}`}>{who.host}</span>}
                <ThemeButton />
            </div>
        </header>
    );
}

function ThemeButton() {
    const isDark = useCell(theme) === "dark";
    return (
        <button type="button" class="plain" onClick={toggleTheme} aria-label={isDark ? "Use the light theme" : "Use the dark theme"}>
            <Icon name={isDark ? "sun" : "moon"} />
        </button>
    );
}

/* What is wrong with the controller, on every screen. */
function Troubles() {
    const state = useCell(connection);
    const health = useHealth();
    if (state === "lost") {
        return (
            <Notice mood="bad">
                The controller does not answer; what you see is from before. Trying again every few seconds. If it was stopped, start it with <code>sonde serve</code>.
            </Notice>
        );
    }
    if (health?.status === "degraded")
        return <Notice mood="warn">{health.reasons.join(" ")}</Notice>;
    return null;
}

function NotFound() {
    return <Empty title="There is nothing here" action={<a class="button" href="#/">All processes</a>}>This address leads nowhere. It may be of another version of the page.</Empty>;
}

/* "Process 12, counters · Sonde": tabs and bookmarks are told apart. */
function titleOf({ path }: Route): string {
    const title = SCREENS.find((one) => one.id === (path[0] ?? ""))?.title;
    if (!title)
        return "Sonde";
    const which = path[0] === "process" ? ` ${path[1] ?? ""}` : "";
    const tab = path[0] === "settings" ? path[1] : path[2];
    return `${title}${which}${tab ? `, ${tab}` : ""} · Sonde`;
}

function focusMain(): void {
    const main = document.getElementById("main");
    const place = main?.querySelector<HTMLElement>("h1") ?? main;
    if (!place || document.querySelector("dialog[open]"))
        return;
    place.tabIndex = -1;
    place.focus();
}

/* Another screen begins at its heading, for those who hear it; tabs of one leave the focus where it is. */
function useArrival(route: Route): void {
    const place = route.path.slice(0, route.path[0] === "settings" ? 1 : 2).join("/");
    const before = useRef(place);
    useEffect(() => {
        document.title = titleOf(route);
    }, [route]);
    useEffect(() => {
        if (before.current !== place)
            focusMain();
        before.current = place;
    }, [place]);
}

function Waiting() {
    return <><Boundary at=""><Header at="" /></Boundary><main id="main"><Loading what="Looking…" /></main></>;
}

/* What fails at the corner takes nothing else along. */
function Corner() {
    return <Boundary at=""><Toasts /></Boundary>;
}

export function App() {
    const route = useRoute();
    const who = useCell(session);
    useArrival(route);
    if (!who)
        return <><Waiting /><Corner /></>;
    if (who.scope === "none")
        return <><Boundary at=""><Login /></Boundary><Corner /></>;
    const at = route.path[0] ?? "";
    const Screen = SCREENS.find((one) => one.id === at)?.screen ?? NotFound;
    return (
        <>
            <button type="button" class="skip" onClick={focusMain}>Skip to the content</button>
            <Boundary at={at}><Header at={at} /></Boundary>
            <main id="main" tabIndex={-1}>
                {reaches(who.scope, "metrics") && <Boundary at=""><Troubles /></Boundary>}
                <Boundary at={addressOf(route)}><Screen route={route} /></Boundary>
            </main>
            <Corner />
        </>
    );
}
