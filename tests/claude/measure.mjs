// node measure.mjs --runs FOLDER OURS PEER
// What the adapter itself costs, side by side: each of OURS and PEER is a command line that
// speaks ACP on stdio and runs the executable in CLAUDE_CODE_EXECUTABLE. Both get the same
// stand-in for Claude Code (bursts.mjs), one after the other, on the same machine. Prints a
// table with the ratios that the project promises; what an agent starts beside Claude Code
// counts as its memory and processor time.
import { spawn } from "node:child_process";
import fs from "node:fs";

const words = process.argv.slice(2);
const runs = words.splice(words.indexOf("--runs"), 2)[1];
const [ours, peer] = words.map((command) => command.split(" "));
const standIn = new URL("./bursts.mjs", import.meta.url).pathname;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const millis = (from, to) => Number(to - from) / 1e6;
const now = () => process.hrtime.bigint();

const workspace = `${runs}/ws`;
const home = `${runs}/home`;
fs.rmSync(runs, { recursive: true, force: true });
fs.mkdirSync(`${home}/tmp`, { recursive: true });
fs.mkdirSync(workspace, { recursive: true });
const env = {
  PATH: process.env.PATH, LANG: "C.UTF-8", HOME: home, TMPDIR: `${home}/tmp`, CLAUDE_CONFIG_DIR: `${home}/.claude`,
  CLAUDE_CODE_EXECUTABLE: standIn, ANTHROPIC_API_KEY: "sk-ant-none", IS_SANDBOX: "1",
};

class Agent {
  constructor(command) {
    this.calls = new Map();
    this.onWord = () => {};
    this.started = now();
    this.process = spawn(command[0], command.slice(1), { cwd: workspace, env, stdio: ["pipe", "pipe", "ignore"] });
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (text) => {
      const came = now();
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) this.hear(JSON.parse(line), came);
    });
  }
  hear(message, came) {
    const update = message.params?.update;
    if (update?.sessionUpdate === "agent_message_chunk") this.onWord(update.content.text, came);
    if (message.method === undefined) this.calls.get(message.id)(message.result);
  }
  ask(method, params) {
    const id = this.calls.size;
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return new Promise((done) => this.calls.set(id, done));
  }
  async greeted() {
    await this.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    return millis(this.started, now());
  }
  async end() {
    const ended = new Promise((done) => this.process.on("exit", done));
    this.process.stdin.end();
    await ended;
  }
  // One turn: the words' delays, and how long the prompt took to Claude Code.
  async turn(session, text) {
    const delays = [];
    let prompted;
    const asked = now();
    this.onWord = (chunk, came) => {
      for (const word of chunk.split(";").filter(Boolean)) {
        if (prompted === undefined) prompted = millis(asked, BigInt(word));
        else delays.push(millis(BigInt(word), came));
      }
    };
    await this.ask("session/prompt", { sessionId: session, prompt: [{ type: "text", text }] });
    return { delays, prompted };
  }
}

// The processes an agent consists of: itself, and what it started that is not Claude Code.
function own(pid) {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  const isClaude = (it) => fs.readFileSync(`/proc/${it}/cmdline`, "utf8").includes(standIn);
  return [pid, ...children.filter((it) => !isClaude(it)).flatMap(own)];
}
const sum = (pids, what) => pids.reduce((all, pid) => all + what(pid), 0);
const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
function processor(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)];

// The delays of one stream, in a process that had one short turn before: what an editor meets
// that was just opened.
async function stream(command) {
  const agent = new Agent(command);
  await agent.greeted();
  const { sessionId } = await agent.ask("session/new", { cwd: workspace, mcpServers: [] });
  await agent.turn(sessionId, "burst 200 1");
  await sleep(300);
  const { delays } = await agent.turn(sessionId, "burst 2000 1");
  await agent.end();
  return delays;
}

async function measure(command) {
  const starts = [];
  for (let at = 0; at < 15; at++) {
    const agent = new Agent(command);
    starts.push(await agent.greeted());
    await agent.end();
  }
  const agent = new Agent(command);
  await agent.greeted();
  await sleep(500);
  const memory = sum(own(agent.process.pid), resident);
  const { sessionId } = await agent.ask("session/new", { cwd: workspace, mcpServers: [] });
  await agent.turn(sessionId, "burst 200 1");
  const prompted = [];
  for (let at = 0; at < 12; at++) {
    await sleep(300);
    prompted.push((await agent.turn(sessionId, "burst 3 5")).prompted);
  }
  const pids = own(agent.process.pid);
  const before = sum(pids, processor);
  const bursts = 5;
  for (let at = 0; at < bursts; at++) await agent.turn(sessionId, "burst 10000 0");
  await sleep(300);
  const burst = (sum(pids, processor) - before) / bursts;
  const after = sum(own(agent.process.pid), resident);
  await agent.end();
  // A pause of this program, or of the machine, falls into one stream or another.
  const streams = [];
  for (let at = 0; at < 9; at++) streams.push(await stream(command));
  const delay = (share) => quantile(streams.map((delays) => quantile(delays, share)), 0.5);
  return {
    start: quantile(starts, 0.5), memory, after, burst,
    p50: delay(0.5), p99: delay(0.99), prompted: quantile(prompted, 0.5),
  };
}

const [mine, theirs] = [await measure(ours), await measure(peer)];
const share = (goal) => (a, b) => [`${(a / b).toFixed(2)} of the peer's`, `at most ${goal}`, a / b <= goal];
const rows = [
  ["start to `initialize`, p50", "start", "ms", (a, b) => [`${(b / a).toFixed(0)} times faster`, "at least 20", b / a >= 20]],
  ["resident memory after `initialize`", "memory", "MiB", share(0.25)],
  ["resident memory after 50,000 deltas", "after", "MiB", share(0.25)],
  ["processor time for 10,000 deltas", "burst", "ms", share(0.34)],
  ["delay of a delta at 900 a second, p50", "p50", "ms", (a, b) => [`${(a / b).toFixed(2)} of the peer's`, "", true]],
  ["delay of a delta at 900 a second, p99", "p99", "ms", share(0.5)],
  ["prompt to Claude Code, p50", "prompted", "ms", (a) => ["", "at most 2 ms", a <= 2]],
];
console.log("| | Airlock | peer | | goal |\n| --- | ---: | ---: | --- | --- |");
let missed = 0;
for (const [name, key, unit, judge] of rows) {
  const [ratio, goal, met] = judge(mine[key], theirs[key]);
  missed += met ? 0 : 1;
  const figure = (it) => `${it.toFixed(unit === "ms" ? 2 : 1)} ${unit}`;
  console.log(`| ${name} | ${figure(mine[key])} | ${figure(theirs[key])} | ${ratio} | ${goal}${met ? "" : " (missed)"} |`);
}
process.exit(missed ? 1 : 0);
