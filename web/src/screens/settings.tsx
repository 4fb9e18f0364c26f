/* The controller itself: who gets in, how open it is, what it keeps and sends, what it costs. */
import { reaches, type Session } from "../api";
import type { ScreenProps } from "../app";
import { addressOf, link } from "../route";
import { session, useCell } from "../store";
import { Boundary } from "../ui/boundary";
import { Action, Loading, Notice, Tabs } from "../ui/parts";
import { sentence } from "./login";
import "./settings.css";
import { AboutTab } from "./settings/about";
import { AccessTab } from "./settings/access";
import { CostTab } from "./settings/cost";
import { ExportersTab } from "./settings/exporters";
import { ExposureTab } from "./settings/exposure";
import { useReading, type Reading, type SettingsData } from "./settings/shapes";
import { StorageTab } from "./settings/storage";

const TABS: readonly (readonly [id: string, label: string])[] = [
    ["access", "Access"],
    ["exposure", "Exposure"],
    ["storage", "Storage"],
    ["exporters", "Exporters"],
    ["cost", "Cost"],
    ["about", "About"],
];
const READ_EVERY_MS = 3000;

function Body({ at, who, reading }: { at: string; who: Session; reading: Reading<SettingsData> }) {
    const { data } = reading;
    if (at === "access")
        return <AccessTab who={who} />;
    if (at === "about")
        return <AboutTab />;
    if (!reaches(who.scope, "read"))
        return <Notice action={<a class="button" href={link(["settings"])}>Use another key</a>}>Seeing this needs the scope <b>read</b>; you have <b>{who.scope}</b>.</Notice>;
    if (!data)
        return reading.error ? null : <Loading what="Asking the controller…" />;
    switch (at) {
    case "exposure": return <ExposureTab exposure={data.exposure} />;
    case "storage": return <StorageTab data={data} who={who} onChange={reading.replace} />;
    case "exporters": return <ExportersTab data={data} />;
    default: return <CostTab cost={data.cost} />;
    }
}

export function Settings({ route }: ScreenProps) {
    const who = useCell(session)!;
    const at = TABS.find(([id]) => id === route.path[1])?.[0] ?? "access";
    const isTold = at !== "access" && at !== "about" && reaches(who.scope, "read");
    const reading = useReading<SettingsData>(isTold ? "settings" : null, READ_EVERY_MS);
    const tabs = TABS.map(([id, label]) => ({ id, label, href: link(id === "access" ? ["settings"] : ["settings", id]) }));
    return (
        <>
            <div class="head"><h1 class="grow">Settings</h1></div>
            <Tabs tabs={tabs} at={at} label="Settings" />
            {reading.error && <Notice mood="bad" action={<Action run={reading.refresh}>Try again</Action>}>{sentence(reading.error)}</Notice>}
            <div class="settings">
                <Boundary at={addressOf(route)}><Body at={at} who={who} reading={reading} /></Boundary>
            </div>
        </>
    );
}
