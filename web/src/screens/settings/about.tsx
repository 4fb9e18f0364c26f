/* Which controller this is, and where to read on. */
import { apiUrl } from "../../api";
import { moment, span } from "../../format";
import { info, useCell } from "../../store";
import { Card, Loading } from "../../ui/parts";

export function AboutTab() {
    const about = useCell(info);
    if (!about)
        return <Loading what="Asking the controller…" />;
    return (
        <div class="halves">
            <Card title="This controller">
                <dl class="pairs">
                    <dt>Version</dt><dd>sonde {about.version}</dd>
                    <dt>Machine</dt><dd>{about.host}</dd>
                    <dt>Process</dt><dd>pid {about.pid}</dd>
                    <dt>Started</dt><dd>{moment(about.started)}, {span((Date.now() - Date.parse(about.started)) / 1000)} ago</dd>
                    <dt>Counters</dt><dd>{about.hasCounters ? `every ${span(about.intervalSeconds)}` : "not watched"}</dd>
                </dl>
            </Card>
            <Card title="For programs">
                <ul class="links">
                    <li><a href={apiUrl("openapi.json")}>OpenAPI document</a> <span class="quiet">every resource, parameter and answer</span></li>
                    <li><a href={new URL("health", document.baseURI).href}>Health</a> <span class="quiet">whether all is well, and what is not</span></li>
                    <li><a href={apiUrl("metrics")}>The controller's own metrics</a> <span class="quiet">for Prometheus</span></li>
                    <li><a href={new URL("assets/NOTICE.txt", document.baseURI).href}>Licences</a> <span class="quiet">of what this page is made of</span></li>
                </ul>
                <p class="quiet">On the machine, <code>man sonde-serve</code> and <code>sonde --help</code> say more.</p>
            </Card>
        </div>
    );
}
