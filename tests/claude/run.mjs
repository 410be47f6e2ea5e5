// node run.mjs --agent PROGRAM --claude EXECUTABLE --runs FOLDER [SCENARIO...]
// Plays the scenarios through the agent with the real Claude Code and prints a table: equal to
// the recording, or which of the differences that differences.json lists with reasons. A
// difference that is not listed fails. Recordings are in ../recordings/claude/seen, reduced.
import fs from "node:fs";
import { startModel } from "./model.mjs";
import { air } from "./air.mjs";
import { compare as differencesOf } from "./parity.mjs";
import { plain } from "./plain.mjs";
import { play, scenarios as first } from "./scenarios.mjs";
import { tasks } from "./tasks.mjs";

const scenarios = { ...first, ...plain, ...air, ...tasks };

const words = process.argv.slice(2);
const option = (name) => {
  const at = words.indexOf(`--${name}`);
  return at < 0 ? undefined : words.splice(at, 2)[1];
};
const [agent, claude, runs] = ["agent", "claude", "runs"].map(option);
const names = words.length ? words : Object.keys(scenarios);
const listed = JSON.parse(fs.readFileSync(new URL("./differences.json", import.meta.url), "utf8"));
const recordings = new URL("../recordings/claude/seen/", import.meta.url);

// Most of a scenario is waiting: two at a time.
const lanes = [Promise.resolve(), Promise.resolve()];
const compared = names.map((name, at) => (lanes[at % 2] = lanes[at % 2].then(() => compare(name))));

let unlisted = 0;
for (const [at, name] of names.entries()) {
  const differences = await compared[at];
  const reasons = new Set();
  const unexplained = [];
  for (const line of differences) {
    const known = listed.find((it) => (!it.scenario || new RegExp(`^(${it.scenario})$`).test(name)) && new RegExp(it.line).test(line));
    if (known) reasons.add(known.why);
    else unexplained.push(line);
  }
  unlisted += unexplained.length;
  const verdict = unexplained.length ? "DIFFERENT" : reasons.size ? [...reasons].join("; ") : "equal";
  console.log(`${name.padEnd(26)}${verdict}`);
  for (const line of unexplained) console.log(`    ${line.slice(0, 600)}`);
}
console.log(`${names.length} scenarios, ${unlisted} unlisted differences`);
process.exit(unlisted ? 1 : 0);

async function compare(name) {
  const folder = `${runs}/${name}`;
  const [workspace, home] = [`${folder}/ws`, `${folder}/home`];
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(workspace, { recursive: true });
  fs.mkdirSync(`${home}/tmp`, { recursive: true });
  fs.writeFileSync(`${workspace}/hello.txt`, "first line\nsecond line\nthird line\n");
  fs.mkdirSync(`${workspace}/.claude/commands`, { recursive: true });
  fs.writeFileSync(`${workspace}/.claude/commands/say-it.md`, "---\ndescription: Say it\nargument-hint: who\n---\nSay it $ARGUMENTS [[mock:plain]]\n");
  const recording = `${folder}/acp.jsonl`;
  const model = await startModel(workspace);
  const command = [agent, "--host", "claude", "--claude", claude];
  try {
    await play(scenarios[name], { command }, { model, home, workspace, recording });
  } catch (error) {
    return [`+ the scenario broke off: ${error.message}`];
  } finally {
    model.stop();
  }
  const expected = fs.readFileSync(new URL(`${name}.txt`, recordings), "utf8").split("\n").filter(Boolean);
  return differencesOf(expected, recording);
}
