// Reduces a recording of one scenario to what a person at the editor would notice: the answers
// to the client's requests, the agent's requests, messages with their text, tool cards in their
// final form with the statuses they went through, plans, modes, states. Ids, paths, times and
// usage are normalised; chunk borders, repeated equal updates, command lists and option lists
// are left out.
import fs from "node:fs";

const DROP_UPDATES = new Set(["usage_update", "available_commands_update", "config_option_update"]);
const DROP_METHODS = new Set(["_auth/status_update", "_claude/sdkMessage", "_session/list/changes"]);
const DROP_KEYS = new Set(["_meta", "usage", "updatedAt", "durationMs", "duration_ms", "elapsedTimeSeconds", "totalDurationMs", "totalTokens", "preTokens", "postTokens", "agentId"]);

export function reduce(file) {
  const entries = fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l));
  const cwds = new Set();
  for (const e of entries) { const c = e.msg?.params?.cwd; if (typeof c === "string" && c.startsWith("/")) cwds.add(c); }
  const roots = [...cwds].map((c) => c.replace(/\/ws$/, "")).filter((c) => c.length > 3).sort((a, b) => b.length - a.length);
  const ids = new Map();
  const norm = (s) => {
    for (const r of roots) { s = s.split(r).join("<root>"); s = s.split(r.replace(/[/.]/g, "-")).join("<root>"); }
    return s
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (u) => { if (!ids.has(u)) ids.set(u, `#${ids.size + 1}`); return "<uuid>"; })
      .replace(/\b(toolu|msg|req)_[A-Za-z0-9_]+/g, "<$1>")
      .replace(/\ba[0-9a-f]{16}\b/g, "<agent>")
      .replace(/\bb[a-z0-9]{8}\b(?=[.\s:,]|$)/g, "<task>")
      .replace(/(?:\b(word|hm|wait)\d+ ?)+/g, "<$1s>")  // how many came before a cancel is a matter of time
      .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:<port>")
      .replace(/\b\d+(\.\d+)?(ms|s)\b/g, "<time>")
      .replace(/(duration_ms|tokens): \d+/g, "$1: <n>");
  };
  const clean = (v) => {
    if (typeof v === "string") return norm(v);
    if (Array.isArray(v)) return v.map(clean);
    if (v && typeof v === "object") return Object.fromEntries(Object.entries(v).filter(([k, x]) => !DROP_KEYS.has(k) && x !== undefined).map(([k, x]) => [k, clean(x)]));
    return v;
  };
  const out = [];           // what the person notices, in order
  const lanes = { plan: [], plan_update: [], session_info_update: [], notice: [] }; // their place among the rest is not compared
  const cards = new Map();  // toolCallId -> card
  const pending = new Map();
  let open = null;          // message being streamed
  const flush = () => { if (open && open.text) { const l = `${open.kind}: ${JSON.stringify(norm(open.text))}`; if (out.at(-1) !== l) out.push(l); } open = null; };
  const push = (s) => { flush(); out.push(s); };
  for (const e of entries) {
    const m = e.msg; if (!m) continue;
    if (e.dir === "client->agent") {
      if (m.method && m.id !== undefined) pending.set(m.id, m.method);
      if (m.method) push(`> ${m.method}`);
      continue;
    }
    if (e.dir !== "agent->client") continue;
    if (!m.method) {
      const method = pending.get(m.id); if (!method) { push(`! answer to nothing`); continue; }
      pending.delete(m.id);
      const r = m.error ? `error ${m.error.code} ${norm(String(m.error.message)).slice(0, 200)}` : method === "session/prompt" ? (m.result.stopReason ?? "accepted") : "ok";
      push(`< ${method} ${r}`); continue;
    }
    if (DROP_METHODS.has(m.method)) continue;
    if (m.id !== undefined) {
      const p = m.params ?? {};
      push(`ask ${m.method} ${JSON.stringify(clean({ title: p.title, options: p.options?.map((o) => [o.optionId, o.kind, o.name]), schema: p.requestedSchema && Object.keys(p.requestedSchema.properties ?? {}), message: p.message }))}`); continue;
    }
    if (m.method !== "session/update") { push(`notify ${m.method}`); continue; }
    const u = m.params.update, k = u.sessionUpdate;
    // the CLI's notice about mock base URLs, cut from the stored recordings
    if (/changing auto mode to no longer charge|^\(notice text left out\)$/.test(u.content?.text ?? u.description ?? "")) continue;
    if (DROP_UPDATES.has(k)) continue;
    if (/_chunk$/.test(k) && u.content?.type === "text") {
      if (open && open.kind === k && open.id === u.messageId) open.text += u.content.text;
      else { flush(); open = { kind: k, id: u.messageId, text: u.content.text }; }
      continue;
    }
    if (k === "tool_call" || k === "tool_call_update") {
      let c = cards.get(u.toolCallId);
      if (!c) { c = { n: cards.size + 1, states: [], body: {} }; cards.set(u.toolCallId, c); push(`card ${c.n} appears`); }
      for (const f of ["title", "kind", "content", "locations", "rawInput", "rawOutput", "name"]) if (u[f] !== undefined) c.body[f] = u[f];
      if (u.status && c.states.at(-1) !== u.status) c.states.push(u.status);
      continue;
    }
    if (k === "terminal_update" || k === "terminal_output_chunk") continue;
    const line = `${k} ${JSON.stringify(clean({ ...u, sessionUpdate: undefined, messageId: undefined }))}`;
    const lane = lanes[k];
    if (lane) { if (lane.at(-1) !== line) lane.push(line); continue; }
    if (out.at(-1) !== line) push(line);
  }
  flush();
  const finals = [...cards.values()].map((c) => `card ${c.n}: ${c.states.join(" > ")} ${JSON.stringify(clean(c.body), (k, v) => (v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v))}`);
  return [...out, ...Object.values(lanes).flat(), ...finals];
}

// The shapes of all that the agent sends: every key path with the type of its value, `_meta`
// too, as a set a message kind. Inputs and results of tools are anybody's.
export function shapes(file) {
  const pending = new Map(), seen = new Map();
  const own = /rawInput|rawOutput|toolResponse|modelUsage|model_usage/;
  const name = (key, path) => (/^[A-Za-z_][\w./-]{0,40}$/.test(key) && !own.test(path) ? key : "*");
  const walk = (value, path, set) => {
    if (Array.isArray(value)) { set.add(`${path}[]`); for (const it of value) walk(it, `${path}[]`, set); }
    else if (value && typeof value === "object") for (const [key, it] of Object.entries(value)) walk(it, `${path}.${name(key, path)}`, set);
    else set.add(`${path}:${value === null ? "null" : typeof value}`);
  };
  const add = (kind, value) => { if (!seen.has(kind)) seen.set(kind, new Set()); walk(value, "", seen.get(kind)); };
  for (const line of fs.readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { dir, msg } = JSON.parse(line);
    if (!msg) continue;
    if (dir === "client->agent") { if (msg.method && msg.id !== undefined) pending.set(msg.id, msg.method); continue; }
    if (dir !== "agent->client") continue;
    if (!msg.method) add(`answer ${pending.get(msg.id)}`, msg.error ? { error: { code: msg.error.code, data: msg.error.data } } : { result: msg.result });
    else if (msg.method === "session/update") add(`update ${msg.params.update.sessionUpdate}`, msg.params);
    else add(`${msg.id !== undefined ? "request" : "notification"} ${msg.method}`, msg.params);
  }
  const kinds = [...seen].sort(([a], [b]) => (a < b ? -1 : 1));
  return kinds.flatMap(([kind, set]) => [...set].sort().map((path) => `shape ${kind} ${path}`));
}

// A recording as it is kept: what a person notices, then the shapes.
export const kept = (file) => [...reduce(file), ...shapes(file)];

// What only one of them has. Shapes count only for recordings that were kept with them.
export function compare(expected, actual) {
  const shape = (line) => line.startsWith("shape ");
  const [noticed, then] = [expected.filter((line) => !shape(line)), expected.filter(shape)];
  const lines = diff(noticed, reduce(actual));
  if (!then.length) return lines;
  const [before, now] = [new Set(then), new Set(shapes(actual))];
  return [...lines, ...then.filter((it) => !now.has(it)).map((it) => `- ${it}`), ...[...now].filter((it) => !before.has(it)).map((it) => `+ ${it}`)];
}

// Lines that only one of them has.
export function diff(a, b) {
  const n = a.length, m = b.length, t = Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) t[i][j] = a[i] === b[j] ? t[i + 1][j + 1] + 1 : Math.max(t[i + 1][j], t[i][j + 1]);
  const out = []; let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i] === b[j]) { i++; j++; }
    else if (j < m && (i >= n || t[i][j + 1] >= t[i + 1][j])) out.push(`+ ${b[j++]}`);
    else out.push(`- ${a[i++]}`);
  }
  return out;
}
