// A small ACP client that writes down what went over its pipe, with the environment in which
// the real Claude Code runs: a private home, the mock model, nothing that phones home.
import { spawn } from "node:child_process";
import fs from "node:fs";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// A Claude Code of its own: nothing of the user's is seen or changed.
export function environment(port, home) {
  return {
    PATH: process.env.PATH, LANG: "C.UTF-8", USER: "tester", SHELL: "/bin/bash", TERM: "dumb",
    HOME: home, TMPDIR: `${home}/tmp`, CLAUDE_CONFIG_DIR: `${home}/.claude`,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: "sk-ant-mock-key",
    DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1", DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", IS_SANDBOX: "1",
  };
}

export class Editor {
  // `command` is the agent's command line as a list; `recording` the file to write.
  constructor(command, { cwd, env, recording, flags = "w" }) {
    this.calls = new Map();
    this.waiting = [];
    this.givingUp = [];
    this.answers = {};
    this.lastId = 0;
    this.recording = fs.openSync(recording, flags);
    this.agent = spawn(command[0], command.slice(1), { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.ended = new Promise((done) => this.agent.on("exit", (code, signal) => {
      this.note({ dir: "exit", code, signal });
      for (const call of this.calls.values()) call({ error: { code: 0, message: "the agent ended" } });
      for (const give of this.givingUp) give(new Error("the agent ended"));
      done(code);
    }));
    this.agent.stdin.on("error", () => {});
    lines(this.agent.stdout, (line) => this.hear(line));
    lines(this.agent.stderr, (text) => this.note({ dir: "agent.stderr", text }));
  }

  note(entry) {
    fs.writeSync(this.recording, JSON.stringify({ t: Date.now(), ...entry }) + "\n");
  }

  hear(line) {
    const msg = JSON.parse(line);
    this.note({ dir: "agent->client", msg });
    if (msg.method === undefined) {
      this.calls.get(msg.id)?.(msg);
      this.calls.delete(msg.id);
      return;
    }
    this.waiting = this.waiting.filter((wanted) => !wanted(msg));
    if (msg.id !== undefined) this.answer(msg);
  }

  async answer({ id, method, params }) {
    const answer = this.answers[method];
    if (!answer) return this.send({ id, error: { code: -32601, message: "Method not found" } });
    this.send({ id, result: await answer(params) });
  }

  send(message) {
    const msg = { jsonrpc: "2.0", ...message };
    this.note({ dir: "client->agent", msg });
    this.agent.stdin.write(JSON.stringify(msg) + "\n");
  }

  // Gives the whole answer, an error too.
  ask(method, params) {
    const id = ++this.lastId;
    this.send({ id, method, params });
    return new Promise((done) => this.calls.set(id, done));
  }

  tell(method, params) {
    this.send({ method, params });
  }

  // Waits for a message of the agent.
  heard(wanted) {
    const message = new Promise((done, giveUp) => {
      this.waiting.push((msg) => wanted(msg) && (done(msg), true));
      this.givingUp.push(giveUp);
    });
    // Who asked may not look any more.
    message.catch(() => {});
    return message;
  }

  // Ends the agent by the end of its input, and with force after that.
  async stop() {
    this.agent.stdin.end();
    const force = setTimeout(() => this.agent.kill("SIGKILL"), 8000);
    await this.ended;
    clearTimeout(force);
    fs.closeSync(this.recording);
  }
}

function lines(stream, take) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text) => {
    const all = (rest + text).split("\n");
    rest = all.pop();
    all.filter((line) => line.trim()).forEach(take);
  });
}
