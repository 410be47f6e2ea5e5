// node routes.mjs --agent PROGRAM --claude EXECUTABLE --runs FOLDER
// What the recordings do not hold, with the real Claude Code and no account: forks that go on,
// at a message and whole; who is signed in, and signing out; a provider that is set; a gateway
// that lists its models; the index of sessions. Prints each check; fails when one does not hold.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Editor, environment, sleep } from "./editor.mjs";
import { startModel } from "./model.mjs";

const words = process.argv.slice(2);
const option = (name) => words[words.indexOf(`--${name}`) + 1];
const [agent, claude, runs] = ["agent", "claude", "runs"].map(option);
const folder = `${runs}/routes`;
const [cwd, home] = [`${folder}/ws`, `${folder}/home`];
fs.rmSync(folder, { recursive: true, force: true });
fs.mkdirSync(cwd, { recursive: true });
fs.mkdirSync(`${home}/tmp`, { recursive: true });
const model = await startModel(cwd);
const air = { version: 1, capabilities: ["sessionIndex", "sessionBatchGet"] };

function start(name, env = {}) {
  const command = [agent, "--host", "claude", "--claude", claude];
  return new Editor(command, { cwd, env: { ...environment(model.port, home), ...env }, recording: `${folder}/${name}.jsonl` });
}

async function begin(editor, capabilities = {}) {
  editor.statuses = [];
  const hear = editor.hear.bind(editor);
  editor.hear = (line) => {
    const msg = JSON.parse(line);
    if (msg.method === "_auth/status_update") editor.statuses.push(msg.params.authStatus);
    if (msg.method === "_session/list/changes") (editor.changes ??= []).push(msg.params);
    hear(line);
  };
  return done(await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: capabilities }));
}

function done({ result, error }) {
  assert.ok(result, JSON.stringify(error));
  return result;
}

const prompt = (text) => [{ type: "text", text }];
const texts = (file) => fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
const project = () => {
  const projects = `${home}/.claude/projects`;
  // What it keeps for the repository around has a folder too.
  return `${projects}/${fs.readdirSync(projects).find((name) => name.endsWith("-routes-ws"))}`;
};

const checks = {
  "a fork goes on from where its source was": async () => {
    const editor = start("fork");
    await begin(editor, { _meta: { jetbrains: { air } } });
    const { sessionId } = done(await editor.ask("session/new", { cwd, mcpServers: [] }));
    done(await editor.ask("session/prompt", { sessionId, prompt: prompt("One [[mock:plain]]") }));
    done(await editor.ask("session/prompt", { sessionId, prompt: prompt("Two [[mock:plain]]") }));
    const whole = done(await editor.ask("session/fork", { sessionId, cwd, mcpServers: [] })).sessionId;
    done(await editor.ask("session/prompt", { sessionId: whole, prompt: prompt("Three [[mock:plain]]") }));
    const said = (id) => texts(`${project()}/${id}.jsonl`).filter((row) => row.type === "user" && !row.isMeta).map((row) => row.message.content[0].text);
    assert.deepEqual(said(whole), ["One [[mock:plain]]", "Two [[mock:plain]]", "Three [[mock:plain]]"]);
    const answers = texts(`${project()}/${sessionId}.jsonl`).filter((row) => row.type === "assistant");
    const point = { version: 1, messageId: answers[0].message.id };
    const params = { sessionId, cwd, mcpServers: [], _meta: { jetbrains: { air: { fork: point } } } };
    const part = done(await editor.ask("session/fork", params)).sessionId;
    done(await editor.ask("session/prompt", { sessionId: part, prompt: prompt("Else [[mock:plain]]") }));
    assert.deepEqual(said(part), ["One [[mock:plain]]", "Else [[mock:plain]]"]);
    // What comes next stands on what was copied.
    const rows = texts(`${project()}/${part}.jsonl`);
    const next = rows.find((row) => row.type === "user" && row.message.content[0].text?.startsWith("Else"));
    assert.ok(rows.some((row) => row.uuid === next.parentUuid && row.sessionId === part));
    const { sessions } = done(await editor.ask("session/list", { cwd }));
    const titles = Object.fromEntries(sessions.map((it) => [it.sessionId, it.title]));
    assert.match(titles[whole], / \(fork\)$/);
    assert.match(titles[part], / \(fork\)$/);
    const gone = await editor.ask("session/fork", { sessionId: "00000000-0000-4000-8000-000000000000", cwd, mcpServers: [] });
    assert.equal(gone.error.code, -32002);
    await editor.stop();
    // A new agent shows the fork as it was.
    const again = start("fork-load");
    await begin(again);
    const shown = [];
    const hear = again.hear.bind(again);
    again.hear = (line) => {
      const update = JSON.parse(line).params?.update;
      if (update?.sessionUpdate === "user_message_chunk") shown.push(update.content.text);
      hear(line);
    };
    done(await again.ask("session/load", { sessionId: part, cwd, mcpServers: [] }));
    assert.deepEqual(shown, ["One [[mock:plain]]", "Else [[mock:plain]]"]);
    await again.stop();
  },
  "who is signed in is told once, and again after a logout": async () => {
    const editor = start("auth");
    await begin(editor);
    done(await editor.ask("session/new", { cwd, mcpServers: [] }));
    done(await editor.ask("session/new", { cwd, mcpServers: [] }));
    const key = { kind: "api_key", label: "Anthropic API key", detail: "ANTHROPIC_API_KEY" };
    assert.deepEqual(editor.statuses, [key]);
    assert.deepEqual(done(await editor.ask("logout", {})), {});
    // The key is in the environment: nobody can sign it out.
    assert.deepEqual(editor.statuses, [key]);
    await editor.stop();
    const nobody = start("auth-none", { ANTHROPIC_API_KEY: "" });
    await begin(nobody);
    assert.deepEqual(done(await nobody.ask("logout", {})), {});
    assert.deepEqual(nobody.statuses, [{ kind: "none", label: "Not signed in" }]);
    await nobody.stop();
  },
  "a provider that is set is where the next turn goes": async () => {
    const editor = start("providers", { ANTHROPIC_BASE_URL: "http://127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES: "0" });
    await begin(editor);
    const { sessionId } = done(await editor.ask("session/new", { cwd, mcpServers: [] }));
    const baseUrl = `http://127.0.0.1:${model.port}`;
    const way = { providerId: "main", apiType: "anthropic", baseUrl, headers: { "x-test": "1" } };
    assert.deepEqual(done(await editor.ask("providers/set", way)), {});
    const { providers } = done(await editor.ask("providers/list", {}));
    assert.deepEqual(providers[0].current, { apiType: "anthropic", baseUrl });
    const turn = done(await editor.ask("session/prompt", { sessionId, prompt: prompt("One [[mock:plain]]") }));
    assert.equal(turn.stopReason, "end_turn");
    done(await editor.ask("providers/set", { ...way, baseUrl: `${baseUrl}/` }));
    const next = done(await editor.ask("session/prompt", { sessionId, prompt: prompt("Two [[mock:plain]]") }));
    assert.equal(next.stopReason, "end_turn");
    const said = texts(`${project()}/${sessionId}.jsonl`).filter((row) => row.type === "user" && !row.isMeta);
    assert.equal(said.length, 2);
    await editor.stop();
  },
  "a gateway's models are offered, and no others": async () => {
    const described = { id: "claude-gate-two", display_name: "Gate Two", description: "Ours" };
    model.gateway.models = [{ id: "claude-sonnet-5-5" }, { id: "claude-gate-one", display_name: "Gate One" }, described, { id: "other" }];
    const editor = start("gateway", { ANTHROPIC_BASE_URL: "http://127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES: "0" });
    await begin(editor);
    const told = [];
    const hear = editor.hear.bind(editor);
    editor.hear = (line) => {
      const update = JSON.parse(line).params?.update;
      if (update?.sessionUpdate === "config_option_update") told.push(update.configOptions);
      hear(line);
    };
    const baseUrl = `http://127.0.0.1:${model.port}`;
    for (const headers of [{ "x-api-key": "mine" }, { authorization: "Bearer mine" }, { "x-test": "1" }]) {
      model.gateway.asked = [];
      done(await editor.ask("providers/disable", { providerId: "main" }));
      done(await editor.ask("providers/set", { providerId: "main", apiType: "anthropic", baseUrl, headers }));
      const { sessionId, configOptions } = done(await editor.ask("session/new", { cwd, mcpServers: [] }));
      // Asked for again after 4 s.
      for (let at = 0; at < 50 && !offered(told.at(-1) ?? configOptions).includes("claude-gate-two"); at++) await sleep(100);
      const options = told.at(-1) ?? configOptions;
      assert.deepEqual(offered(options), ["default", "sonnet", "claude-gate-one", "claude-gate-two"]);
      const [name, value] = Object.entries(headers)[0];
      assert.ok(model.gateway.asked.length > 0);
      assert.ok(model.gateway.asked.every((it) => it[name] === value), JSON.stringify(model.gateway.asked));
      const change = { sessionId, configId: "model", value: "claude-gate-two" };
      done(await editor.ask("session/set_config_option", change));
      const turn = done(await editor.ask("session/prompt", { sessionId, prompt: prompt("One [[mock:plain]]") }));
      assert.equal(turn.stopReason, "end_turn");
      done(await editor.ask("session/close", { sessionId }));
      told.length = 0;
    }
    const answers = fs.readdirSync(project()).filter((name) => name.endsWith(".jsonl")).flatMap((name) => texts(`${project()}/${name}`));
    assert.ok(answers.some((row) => row.message?.model === "claude-gate-two"));
    await editor.stop();
  },
  "the index names, archives and tells what changes": async () => {
    const editor = start("index");
    await begin(editor, { _meta: { jetbrains: { air } } });
    const { sessionId } = done(await editor.ask("session/new", { cwd, mcpServers: [] }));
    const { subscriptionId } = done(await editor.ask("_session/list/subscribe", { cwd }));
    await sleep(2500);
    done(await editor.ask("session/prompt", { sessionId, prompt: prompt("One [[mock:plain]]") }));
    done(await editor.ask("_session/rename", { sessionId, title: "Mine" }));
    await sleep(3000);
    const rows = () => rowsOf(editor, subscriptionId, sessionId);
    assert.equal(rows().at(-1).title, "Mine");
    assert.equal(rows().at(-1)._meta.jetbrains.air.state, "idle");
    assert.deepEqual(done(await editor.ask("_session/archive", { sessionId })), {});
    const listed = async (archived) => {
      const list = { archived };
      const { sessions } = done(await editor.ask("session/list", { cwd, _meta: { jetbrains: { air: { list } } } }));
      return sessions.map((it) => it.sessionId);
    };
    assert.ok(!(await listed("unarchived")).includes(sessionId));
    assert.deepEqual(await listed("archived"), [sessionId]);
    await sleep(2500);
    assert.equal(rows().at(-1)._meta.jetbrains.air.archived, true);
    // A name for one that is not live stands when it is taken up again.
    assert.deepEqual(done(await editor.ask("_session/rename", { sessionId, title: "Later" })), {});
    assert.deepEqual(done(await editor.ask("_session/unarchive", { sessionId })), {});
    done(await editor.ask("session/resume", { sessionId, cwd, mcpServers: [] }));
    done(await editor.ask("session/prompt", { sessionId, prompt: prompt("Two [[mock:plain]]") }));
    const { sessions } = done(await editor.ask("_session/batch_get", { sessionIds: [sessionId] }));
    assert.equal(sessions[0].title, "Later");
    assert.deepEqual(done(await editor.ask("session/delete", { sessionId })), {});
    await sleep(2500);
    assert.ok(editor.changes.some((it) => it.removed.includes(sessionId)));
    assert.deepEqual(done(await editor.ask("_session/list/unsubscribe", { subscriptionId })), {});
    await editor.stop();
  },
};

function offered(options) {
  return options.find((it) => it.id === "model").options.map((it) => it.value);
}

function rowsOf(editor, subscriptionId, sessionId) {
  const told = (editor.changes ?? []).filter((it) => it.subscriptionId === subscriptionId);
  return told.flatMap((it) => it.sessions).filter((it) => it.sessionId === sessionId);
}

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  fs.rmSync(`${home}/.claude`, { recursive: true, force: true });
  model.gateway.models = null;
  try {
    await check();
    console.log(`holds   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILS   ${name}\n    ${String(error.stack).slice(0, 1500)}`);
  }
}
model.stop();
process.exit(failed ? 1 : 0);
