// A mock of the Anthropic Messages API on loopback, so that the real Claude Code runs without
// an account or a network. The reply depends on the conversation alone: the last user text
// with "[[mock:NAME]]" names a script of scripts.json, the number of assistant messages
// after it is the step.
import fs from "node:fs";
import http from "node:http";

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const USAGE = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 50 };

// Starts it; `workspace` replaces {{WS}} in the scripts.
export async function startModel(workspace) {
  const file = new URL("./scripts.json", import.meta.url);
  const quoted = JSON.stringify(workspace).slice(1, -1);
  const scripts = JSON.parse(fs.readFileSync(file, "utf8").replaceAll("{{WS}}", quoted));
  const failures = new Map();
  let requests = 0;
  // As a gateway it has these, `GET /v1/models`; none: it has no such address. `asked` is who asked.
  const gateway = { models: null, asked: [] };
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = request.url.split("?")[0];
    const json = (status, value, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(request.method === "HEAD" ? undefined : JSON.stringify(value));
    };
    if (request.method === "GET" && path === "/v1/models" && gateway.models) {
      gateway.asked.push(request.headers);
      return json(200, { data: gateway.models, has_more: false });
    }
    if (request.method !== "POST") return json(request.method === "HEAD" ? 200 : 404, {});
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
    if (path === "/v1/messages/count_tokens") return json(200, { input_tokens: 100 });
    if (path !== "/v1/messages") return json(404, {});
    const n = ++requests;
    const { name, step } = place(body);
    const { steps } = scripts[name] ?? scripts._default;
    const script = steps[Math.min(step, steps.length - 1)];
    if (script.status) {
      const failed = (failures.get(name) ?? 0) + 1;
      failures.set(name, failed);
      if (!script.failTimes || failed <= script.failTimes) {
        const id = `req_mock_${n}`;
        return json(script.status, { type: "error", error: script.error, request_id: id }, { "request-id": id, ...script.headers });
      }
    }
    if (script.delayMs) await sleep(script.delayMs);
    if (body.stream) return stream(response, body.model, script, n);
    const content = script.blocks.map((block) => ({ type: "text", text: block.text ?? "ok" }));
    const message = { id: `msg_mock_${n}`, type: "message", role: "assistant", model: body.model, content };
    json(200, { ...message, stop_reason: "end_turn", usage: { ...USAGE, output_tokens: 5 } });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { port: server.address().port, gateway, stop: () => { server.closeAllConnections(); server.close(); } };
}

// Which script is meant, and how far it is.
function place({ messages = [], tools = [] }) {
  if (!tools.length) return { name: "_title", step: 0 };
  for (let at = messages.length - 1; at >= 0; at--) {
    if (messages[at].role !== "user") continue;
    const content = messages[at].content;
    const texts = typeof content === "string" ? [content] : content.filter((b) => b.type === "text").map((b) => b.text);
    const named = [...texts.join("\n").matchAll(/\[\[mock:(\w+)\]\]/g)].at(-1);
    if (named) return { name: named[1], step: messages.slice(at).filter((m) => m.role === "assistant").length };
  }
  return { name: "_default", step: 0 };
}

async function stream(response, model, script, n) {
  let gone = false;
  response.on("close", () => { gone = true; });
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "request-id": `req_mock_${n}` });
  const send = (event) => gone || response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const message = { id: `msg_mock_${n}`, type: "message", role: "assistant", model, content: [] };
  const nothing = { stop_reason: null, stop_sequence: null };
  send({ type: "message_start", message: { ...message, ...nothing, usage: { ...USAGE, output_tokens: 1 } } });
  send({ type: "ping" });
  let index = 0;
  // A token is a piece of text; a call has five.
  let tokens = 0;
  for (const block of script.blocks) {
    if (gone) return;
    // The connection breaks off.
    if (block.type === "cut") return response.destroy();
    const { start, deltas } = parts(block, `toolu_mock_${n}_${index}`);
    send({ type: "content_block_start", index, content_block: start });
    for (const delta of deltas) {
      if (gone) return;
      send({ type: "content_block_delta", index, delta });
      if (block.gapMs) await sleep(block.gapMs);
    }
    tokens += block.type === "tool_use" ? 5 : deltas.length;
    send({ type: "content_block_stop", index });
    index++;
  }
  const tools = script.blocks.some((block) => block.type === "tool_use");
  const stop_reason = script.stop_reason ?? (tools ? "tool_use" : "end_turn");
  send({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { ...USAGE, output_tokens: tokens } });
  send({ type: "message_stop" });
  response.end();
}

// A block as it streams.
function parts(block, id) {
  const cut = (text, size) => text.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
  if (block.type === "tool_use") {
    const pieces = cut(JSON.stringify(block.input), 20);
    const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }));
    return { start: { type: "tool_use", id, name: block.name, input: {} }, deltas };
  }
  const pieces = block.times
    ? Array.from({ length: block.times }, (_, at) => block.text.replaceAll("%d", String(at)))
    : cut(block.text, 12);
  if (block.type === "text") {
    return { start: { type: "text", text: "" }, deltas: pieces.map((text) => ({ type: "text_delta", text })) };
  }
  const deltas = pieces.map((thinking) => ({ type: "thinking_delta", thinking }));
  deltas.push({ type: "signature_delta", signature: "c2ln" });
  return { start: { type: "thinking", thinking: "", signature: "" }, deltas };
}
