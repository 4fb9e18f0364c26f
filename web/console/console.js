// The controller's own small page: who is there, a few numbers, traces to start, stop and take away.
// Everything that comes from a process is put in as text.

const note = document.getElementById("note");
const numbers = new Map(); // of a process: its row of the latest counters

function say(text) {
  note.textContent = text;
}

async function ask(method, path, body) {
  const request = { method, headers: {} };
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  const answer = await fetch(path, request);
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Error(problem.detail || `${answer.status} ${answer.statusText}`);
  }
  return answer.status === 204 ? null : answer.json();
}

// The code is good once: it does not stay in the address.
async function redeem() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  await ask("POST", "api/v1/session", { code });
}

function cell(row, text, isNumber) {
  const td = row.insertCell();
  td.textContent = text;
  if (isNumber) td.className = "number";
  return td;
}

function button(td, text, action) {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", () => action().catch((problem) => say(problem.message)));
  td.append(made);
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function latest(pid, name) {
  return (numbers.get(pid) || []).find((one) => one.name === name);
}

function cpu(pid) {
  const usage = latest(pid, "process.cpu.usage");
  return usage && usage.value !== undefined ? `${(usage.value * 100).toFixed(1)} %` : "";
}

function rows(id) {
  const table = document.getElementById(id);
  table.hidden = false;
  const body = table.tBodies[0];
  body.replaceChildren();
  return body;
}

let processes = [];

function showProcesses() {
  const body = rows("processes");
  for (const one of processes) {
    const row = body.insertRow();
    cell(row, one.pid, true);
    cell(row, one.name);
    cell(row, one.runtime || one.reason);
    cell(row, cpu(one.pid), true);
    cell(row, one.rssBytes ? megabytes(one.rssBytes) : "", true);
    const last = cell(row, "");
    if (one.isReachable)
      button(last, "start", () => ask("POST", "api/v1/recordings", { kind: "trace", process: { pid: one.pid } }));
  }
}

function showRecordings(recordings) {
  const body = rows("recordings");
  for (const one of recordings) {
    const row = body.insertRow();
    cell(row, one.process ? `${one.process.name} (${one.process.pid})` : "the machine");
    cell(row, one.message ? `${one.state}: ${one.message}` : one.state);
    cell(row, megabytes(one.fileBytes), true);
    const link = document.createElement("a");
    link.href = `api/v1/recordings/${encodeURIComponent(one.id)}/download`;
    link.textContent = one.fileName || "";
    cell(row, "").append(link);
    const last = cell(row, "");
    if (one.enabled) button(last, "stop", () => ask("PATCH", `api/v1/recordings/${encodeURIComponent(one.id)}`, { enabled: false }));
  }
}

function watch() {
  const stream = new EventSource("api/v1/stream?topics=processes,counters,recordings,health");
  stream.addEventListener("processes", (event) => {
    processes = JSON.parse(event.data).processes;
    showProcesses();
  });
  stream.addEventListener("counters", (event) => {
    for (const one of JSON.parse(event.data).processes) numbers.set(one.pid, one.counters);
    showProcesses();
  });
  stream.addEventListener("recordings", (event) => showRecordings(JSON.parse(event.data).recordings || []));
  stream.addEventListener("health", (event) => {
    const health = JSON.parse(event.data);
    say(health.status === "ok" ? "All is well." : health.reasons.join(" "));
  });
  stream.addEventListener("error", () => say("The controller does not answer."));
}

try {
  await redeem();
  const who = await ask("GET", "api/v1/session");
  document.title = `sonde: ${who.name || who.kind}`;
  watch();
} catch (problem) {
  say(`${problem.message} Ask for a new link: 'sonde serve' prints one.`);
}
