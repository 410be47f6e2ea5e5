#!/usr/bin/env node
// Stands in for Claude Code where only the adapter is measured: it answers what a session asks
// for, and streams what the prompt says: "burst COUNT GAP" sends COUNT words, GAP milliseconds
// apart. Every word is the time it was written at, in nanoseconds of the monotonic clock, and
// the first one the time the prompt came.
import { randomUUID } from "node:crypto";

if (process.argv.includes("auth")) {
  console.log(JSON.stringify({ loggedIn: true, authMethod: "api_key", apiProvider: "firstParty", apiKeySource: "ANTHROPIC_API_KEY" }));
  process.exit(0);
}
const flag = (name) => process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1];
const session_id = flag("session-id") ?? flag("resume");
const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const model = "claude-opus-5-5";

const write = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");
const send = (frame) => write({ ...frame, session_id, uuid: randomUUID() });
const state = (it) => send({ type: "system", subtype: "session_state_changed", state: it });
const lifecycle = (prompt, it) => send({ type: "command_lifecycle", command_uuid: prompt.uuid, state: it });
const event = (it) => send({ type: "stream_event", parent_tool_use_id: null, event: it });

const answers = {
  initialize: { commands: [], agents: [], output_style: "default", available_output_styles: [], account: {}, hooks_applied: true,
    models: [{ value: "default", resolvedModel: model, displayName: "Default", description: "Default" }] },
  get_settings: { effective: {}, sources: [], applied: { model, effort: "medium", ultracodeRequested: false, ultracodeAvailable: false } },
  get_context_usage: { categories: [], totalTokens: 0, maxTokens: 200000, rawMaxTokens: 200000 },
  generate_session_title: { title: null },
  interrupt: { still_queued: [] },
};

let turns = 0;
let queue = Promise.resolve();
let rest = "";
process.stdin.on("data", (bytes) => {
  const came = process.hrtime.bigint();
  rest += bytes;
  for (let end; (end = rest.indexOf("\n")) >= 0; ) {
    const line = rest.slice(0, end);
    rest = rest.slice(end + 1);
    if (line.trim()) hear(JSON.parse(line), came);
  }
});
process.stdin.on("end", () => process.exit(0));
process.on("SIGTERM", () => process.exit(143));

function hear(frame, came) {
  if (frame.type === "control_request") {
    const response = { subtype: "success", request_id: frame.request_id, response: answers[frame.request.subtype] ?? {} };
    write({ type: "control_response", response });
  } else if (frame.type === "user") {
    queue = queue.then(() => turn(frame, came));
  }
}

async function turn(prompt, came) {
  const words = prompt.message.content.map((block) => block.text ?? "").join(" ");
  const [, count, gap] = /burst (\d+) (\d+)/.exec(words).map(Number);
  const id = `msg_${++turns}`;
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  if (turns === 1) {
    send({ type: "system", subtype: "init", cwd: process.cwd(), tools: [], mcp_servers: [], model, permissionMode: "default", slash_commands: [],
      apiKeySource: "ANTHROPIC_API_KEY", claude_code_version: "2.1.318", output_style: "default", skills: [], plugins: [],
      capabilities: ["interrupt_receipt_v1", "msg_lifecycle_v1", "request_marker_lists_v1"] });
  }
  state("running");
  lifecycle(prompt, "started");
  send({ type: "system", subtype: "status", status: "requesting", user_message_uuids: [prompt.uuid] });
  write({ type: "user", message: prompt.message, session_id, parent_tool_use_id: null, uuid: prompt.uuid, isReplay: true, origin: { kind: "human" } });
  event({ type: "message_start", message });
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const delta = (text) => ({ type: "stream_event", event: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    session_id, parent_tool_use_id: null, uuid: prompt.uuid });
  // One line, cut where the word belongs, so that writing is cheap beside reading.
  const [before, after] = JSON.stringify(delta("@@")).split("@@");
  let text = "";
  const say = (word) => {
    text += word;
    return process.stdout.write(`${before}${word}${after}\n`);
  };
  say(`${came};`);
  for (let at = 0; at < count; at++) {
    const roomy = say(`${process.hrtime.bigint()};`);
    if (gap) await new Promise((done) => setTimeout(done, gap));
    else if (!roomy) await new Promise((done) => process.stdout.once("drain", done));
  }
  send({ type: "assistant", parent_tool_use_id: null, message: { ...message, content: [{ type: "text", text }] } });
  event({ type: "content_block_stop", index: 0 });
  event({ type: "message_stop" });
  send({ type: "result", subtype: "success", is_error: false, duration_ms: 1, duration_api_ms: 1, num_turns: 1, result: "", stop_reason: "end_turn",
    total_cost_usd: 0, usage, modelUsage: { [model]: { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 0, cacheCreationInputTokens: 0, costUSD: 0, contextWindow: 200000 } },
    permission_denials: [], user_message_uuid: prompt.uuid, user_message_uuids: [prompt.uuid] });
  lifecycle(prompt, "completed");
  state("idle");
}
