/* A row of numbers with their names, above a table. */
export function Facts({ of }: { of: [label: string, text: string, value: number][] }) {
    return (
        <dl class="numbers">
            {of.map(([label, text, value]) => (
                <div key={label}>
                    <dt>{label}</dt>
                    <dd data-value={value}>{text}</dd>
                </div>
            ))}
        </dl>
    );
}
