"""docs/performance.md from bench/performance.md.in and the results in bench/results: a line `@section NAME@` of the template
becomes that section's tables. Goals come from bench/goals.py; whether they were reached is computed here, from the end of
the 95 % interval that is worse for Sonde."""

import json
import re
import statistics

import goals
import pairs

FEW = 6  # rounds that can never be 95 % sure


def number(value):
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value != int(value) and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def spread(values):
    """Median, least, most."""
    if len(set(values)) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))}..{number(max(values))})"


def verdict(is_reached):
    return "reached" if is_reached else "**missed**"


def compared(row, goal):
    claim = pairs.ratio(row["ours"], row["theirs"], row["more"])
    word = "more" if row["more"] else "less"
    asked = goal and float(goal.removesuffix(" times"))
    return [row["what"], spread(row["ours"]), spread(row["theirs"]), f"{number(claim.middle)} ({number(claim.low)}..{number(claim.high)})",
            f"{number(claim.figure)} times {word}", goal or "", verdict(claim.figure >= asked) if goal else ""]


def differed(row, goal):
    claim = pairs.difference(row["without"], row["with"])
    return [row["what"], spread(row["with"]), spread(row["without"]), f"{claim.middle:+.3g} ({claim.low:+.3g}..{claim.high:+.3g})",
            f"at most {claim.figure:+.3g}", goal or "", ""]


def alone(row, goal):
    most = max(row["values"])
    return [row["what"], spread(row["values"]), "", "", number(most), goal or "", verdict(most <= float(goal.removeprefix("<= "))) if goal else ""]


KINDS = {"ours": compared, "without": differed, "values": alone}


def as_lines(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(map(number, cells)) + " |" for cells in lines]


def table_lines(section, table):
    if "columns" in table:
        return as_lines(table["columns"], table["rows"])
    rows = []
    for row in table["rows"]:
        kind = next(kind for key, kind in KINDS.items() if key in row)
        rows.append(kind(row, goals.GOALS.get((section, row["what"]))))
    return as_lines(["", "sonde", table["peer"], "pair by pair (95 %)", "figure", "asked", ""], rows)


def circumstances(result):
    rounds = result["rounds"]
    sure = "" if rounds >= FEW else ", too few for a 95 % interval: it holds all of them" if rounds > 1 else ""
    return (f"Commit {result['commit']}, {result['date']}, load {result['load']:.1f} at the start and {result['load_after']:.1f} at the end, "
            f"{result['processors']} processors, kernel {result['kernel']}; {rounds} round{'s' if rounds > 1 else ''}{sure}; "
            f"took {result['minutes']:.1f} minutes.")


def section_lines(name, result):
    if not result:
        return [f"`bench/run {name}`: not measured yet."]
    lines = [f"`bench/run {name}`. {circumstances(result)}"]
    for table in result["tables"]:
        lines += ["", f"*{table['title']}*", "", *table_lines(name, table)]
    return lines


def read_results(folder, names):
    paths = {name: folder / f"{name}.json" for name in names}
    return {name: json.loads(path.read_text()) if path.exists() else None for name, path in paths.items()}


def missed(results):
    """The goals that were missed, and those that nobody has measured: what a reader wants to know first."""
    lines = []
    for (name, what), goal in goals.GOALS.items():
        result = results.get(name)
        rows = [row for table in result["tables"] if "columns" not in table for row in table["rows"] if row["what"] == what] if result else []
        if not rows:
            lines.append(f"- {name}: {what}: not measured, asked {goal}")
            continue
        kind = next(kind for key, kind in KINDS.items() if key in rows[0])
        cells = kind(rows[0], goal)
        if cells[-1] != "reached":
            lines.append(f"- {name}: {what}: {cells[4]}, asked {goal}")
    return lines or ["None."]


def page(template, results):
    """The text of docs/performance.md."""
    lines = []
    for line in template.splitlines():
        place = re.fullmatch(r"@section (\S+)@", line)
        if place:
            lines += section_lines(place[1], results[place[1]])
        elif line == "@missed@":
            lines += missed(results)
        elif line == "@minutes@":
            total = sum(result["minutes"] for result in results.values() if result)
            left = sum(not result for result in results.values())
            lines.append(f"The sections that were measured took {total:.0f} minutes together; {left} are not measured yet.")
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
