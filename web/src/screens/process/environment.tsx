/* The environment variables that the process was started with. */
import { useEffect, useState } from "preact/hooks";
import { get, path, reaches } from "../../api";
import { setParams } from "../../route";
import { session, useCell } from "../../store";
import { Card, CopyButton, Empty, Loading, Notice } from "../../ui/parts";
import { Table, type Column } from "../../ui/table";
import type { TabProps } from "./tab";

interface Variable {
    name: string;
    value: string;
}

interface Environment {
    isRedacted: boolean;
    variables: Variable[];
}

const COLUMNS: Column<Variable>[] = [
    { id: "name", label: "Name", sort: (row) => row.name, cell: (row) => <b class="mono">{row.name}</b> },
    { id: "value", label: "Value", sort: (row) => row.value, class: "wide breaks", cell: (row) => <span class="mono">{row.value}</span> },
];

function Variables({ environment, query }: { environment: Environment; query: string }) {
    const wanted = query.toLowerCase();
    const rows = environment.variables.filter(({ name, value }) => `${name}=${value}`.toLowerCase().includes(wanted));
    return (
        <>
            {environment.isRedacted && <Notice>Values that may be secrets are left out: they need a log-in with scope <b>secrets</b>.</Notice>}
            <div class="row">
                <input type="search" placeholder="Search names and values" aria-label="Search names and values" value={query} onInput={(event) => setParams({ q: event.currentTarget.value })} />
                <span class="quiet">{rows.length} of {environment.variables.length} variables</span>
                <CopyButton text={() => rows.map(({ name, value }) => `${name}=${value}`).join("\n")} label="Copy as text" />
            </div>
            {rows.length
                ? <Card flush><Table rows={rows} columns={COLUMNS} rowKey={(row) => row.name} start={{ id: "name", down: false }} caption="Environment variables" /></Card>
                : <Empty title="Nothing found">No variable has “{query}” in its name or value.</Empty>}
        </>
    );
}

export function EnvironmentTab({ pid, hasEnded, route }: TabProps) {
    const scope = useCell(session)?.scope ?? "none";
    const [environment, setEnvironment] = useState<Environment | null>(null);
    const [error, setError] = useState<string | null>(null);
    useEffect(() => {
        if (hasEnded)
            return;
        get<Environment>(path`processes/${pid}/environment`).then(setEnvironment, (problem: Error) => setError(problem.message));
    }, [pid, hasEnded, scope]);
    if (environment)
        return <Variables environment={environment} query={route.params.get("q") ?? ""} />;
    if (hasEnded)
        return <Notice>The environment is read from the running process, and it has ended.</Notice>;
    if (error)
        return <Notice mood="warn">{reaches(scope, "secrets") ? error : `${error} Log in with a key of scope secrets to see it.`}</Notice>;
    return <Loading what="Reading the environment…" />;
}
