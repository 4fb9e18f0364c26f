/* A table that sorts by its columns; numbers are aligned, and rows keep their identity while they change. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { clean } from "../format";

export interface Column<Row> {
    id: string;
    label: string;
    cell: (row: Row) => ComponentChildren;
    sort?: (row: Row) => number | string;
    isNumber?: boolean;
    class?: string;
}

export interface SortOrder {
    id: string;
    down: boolean;
}

export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: SortOrder): Row[] {
    const by = columns.find((column) => column.id === order.id)?.sort;
    if (!by)
        return [...rows];
    const sign = order.down ? -1 : 1;
    return [...rows].sort((a, b) => {
        const x = by(a);
        const y = by(b);
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
    });
}

function shown(cell: ComponentChildren): ComponentChildren {
    return typeof cell === "string" ? clean(cell) : cell;
}

function Head<Row>({ column, order, setOrder }: { column: Column<Row>; order: SortOrder; setOrder: (order: SortOrder) => void }) {
    const isAt = order.id === column.id;
    const name = `${column.isNumber ? "number" : ""} ${column.class ?? ""}`.trim();
    if (!column.sort)
        return <th scope="col" class={name}>{column.label}</th>;
    const click = () => setOrder({ id: column.id, down: isAt ? !order.down : Boolean(column.isNumber) });
    return (
        <th scope="col" class={name} aria-sort={isAt ? (order.down ? "descending" : "ascending") : undefined}>
            <button type="button" onClick={click}>{column.label}<span aria-hidden="true">{isAt ? (order.down ? "↓" : "↑") : ""}</span></button>
        </th>
    );
}

export function Table<Row>({ rows, columns, rowKey, start, order, onOrder, caption }: {
    rows: readonly Row[];
    columns: readonly Column<Row>[];
    rowKey: (row: Row) => string | number;
    start?: SortOrder; // sorted so at first
    order?: SortOrder; // or kept outside, in the address
    onOrder?: (order: SortOrder) => void;
    caption: string; // for those who cannot see it
}) {
    const [own, setOwn] = useState<SortOrder>(start ?? { id: "", down: false });
    const now = order ?? own;
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
            <table class="list">
                <thead><tr>{columns.map((column) => <Head key={column.id} column={column} order={now} setOrder={onOrder ?? setOwn} />)}</tr></thead>
                <tbody>
                    {sorted(rows, columns, now).map((row) => (
                        <tr key={rowKey(row)}>
                            {columns.map((column) => (
                                <td key={column.id} class={`${column.isNumber ? "number" : ""} ${column.class ?? ""}`.trim()}>{shown(column.cell(row))}</td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}
