/* How far the controller can be reached, and by whom. */
import type { ComponentChildren } from "preact";
import { Badge, Card, Notice } from "../../ui/parts";
import { Command, sentence } from "../login";
import type { Exposure, Place } from "./shapes";

const SERVES = { api: "Everything, for who has a key", metrics: "/metrics only, without a key", socket: "Everything, for the controller's own user and root" };

function Security({ place }: { place: Place }) {
    if (place.serves === "socket")
        return <Badge mood="good">this user only</Badge>;
    if (place.isTls)
        return <Badge mood="good">TLS</Badge>;
    return place.isReachable ? <Badge mood="bad">plain HTTP</Badge> : <Badge title="What goes over loopback is not seen by others.">plain HTTP, this machine only</Badge>;
}

function PlaceRow({ place }: { place: Place }) {
    return (
        <li>
            <code class="address">{place.url === "unix:" ? "the control socket" : place.url}</code>
            <span>{SERVES[place.serves]}</span>
            <span class="row"><Security place={place} />{place.isReachable && <Badge mood="warn">from other machines, too</Badge>}</span>
        </li>
    );
}

function summary(exposure: Exposure): string {
    const open = exposure.places.filter((place) => place.isReachable && place.serves === "api");
    const without = exposure.anonymousScope === "none" ? "and nobody gets in without a key" : `and everybody who reaches it has the scope ${exposure.anonymousScope} without a key`;
    if (open.length === 0)
        return `Only programs of this machine can reach it, ${without}.`;
    return `Other machines can reach it ${open.every((place) => place.isTls) ? "over TLS" : "without TLS"}, ${without}.`;
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
    return <><dt>{name}</dt><dd>{children}</dd></>;
}

const words = (items: string[], none: string) => (items.length ? items.map((item) => <code key={item} class="word">{item}</code>) : none);

function Facts({ exposure }: { exposure: Exposure }) {
    return (
        <dl class="pairs">
            <Fact name="Without a key">{exposure.anonymousScope === "none" ? "nothing" : <>scope <b>{exposure.anonymousScope}</b></>}</Fact>
            <Fact name="Keys">{exposure.takesKeys ? "taken" : "not taken: the state folder cannot be written"}</Fact>
            <Fact name="Client certificates">{exposure.certificateScope === "none" ? "not asked for" : <>scope <b>{exposure.certificateScope}</b></>}</Fact>
            <Fact name="Tokens (JWT)">{exposure.takesJwt ? "taken, of the configured key" : "not taken"}</Fact>
            <Fact name="Names it answers to">{words(exposure.allowedHosts, "its own addresses and names")}</Fact>
            <Fact name="Path behind a proxy">{exposure.prefix ? <code>{exposure.prefix}</code> : "none"}</Fact>
            <Fact name="Switched off">{words(exposure.disabled, "nothing")}</Fact>
            <Fact name="Audit log">{exposure.hasAuditLog ? "written" : "not written"}</Fact>
        </dl>
    );
}

export function ExposureTab({ exposure }: { exposure: Exposure }) {
    return (
        <>
            {exposure.warnings.map((text) => <Notice key={text} mood="warn">{sentence(text)}</Notice>)}
            <Card title="Where it listens" flush>
                <p class="lead">{summary(exposure)}</p>
                <ul class="places">{exposure.places.map((place) => <PlaceRow key={place.url + place.serves} place={place} />)}</ul>
            </Card>
            <div class="halves">
                <Card title="Who gets in"><Facts exposure={exposure} /></Card>
                <Card title="To change it">
                    <div class="stack">
                        <p>How open the controller is, is said where it is started and nowhere else: nobody can open it from here.</p>
                        <p>For other machines, with a certificate of its own:</p>
                        <Command text="sonde serve --listen :52380 --tls self-signed" />
                        <p>Behind a reverse proxy that has a certificate:</p>
                        <Command text="sonde serve --prefix /sonde --allowed-host shop.example" />
                        <p>For programs of this machine alone, without TCP:</p>
                        <Command text="sonde serve --no-tcp" />
                    </div>
                </Card>
            </div>
        </>
    );
}
