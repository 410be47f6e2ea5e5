// More scenarios of an editor without extensions: tools, commands, errors, and what is stored.
// The names are those of the recordings.
import { sleep } from "./editor.mjs";

const text = (words) => ({ type: "text", text: words });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const mini = { name: "mini", command: process.execPath, args: [new URL("./mcp.mjs", import.meta.url).pathname], env: [] };

// Prompts, one after the other, with a pause behind each.
const says = (prompts, more = {}) => ({
  ...more,
  run: async (x) => {
    for (const prompt of prompts) {
      await x.prompt(typeof prompt === "function" ? prompt(x) : prompt);
      await sleep(700);
    }
  },
});
const once = { CLAUDE_CODE_MAX_RETRIES: "1" };

export const plain = {
  "read-range": says(["Read it [[mock:readrange]]"], { mode: "default" }),
  "bash-allow-always": says(["Run it [[mock:bash]]"], { mode: "default", permission: "allow_always" }),
  "bash-fail": says(["Run it [[mock:bashfail]]"], { mode: "bypassPermissions" }),
  "edit-accept-mode": says(["Edit it [[mock:edit]]"], { mode: "acceptEdits" }),
  "search": says(["Search [[mock:search]]"], { mode: "default", permission: "allow_once", env: { CLAUDE_CODE_ENABLE_SEARCH_TOOLS: "1" } }),
  "web": says(["Fetch [[mock:web]]"], { mode: "default", permission: "allow_once" }),
  "todo": says(["Plan [[mock:todo]]"], { mode: "default", env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1", CLAUDE_CODE_ENABLE_TASKS: "0" } }),
  "tasks": says(["Plan [[mock:tasks]]"], { mode: "default", env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1", CLAUDE_CODE_ENABLE_TASKS: "1" } }),
  "exit-plan-approve": says(["Plan [[mock:exitplan]]"], { mode: "plan", permission: "allow_once" }),
  "ask-user-question": says(["Ask [[mock:ask]]"], { mode: "default", capabilities: { elicitation: { form: {}, url: {} } } }),
  "mcp-tool": says(["Add [[mock:mcptool]]"], { mode: "default", permission: "allow_once", mcpServers: [mini] }),
  "err-401": says(["Err [[mock:err401]]"], { env: once }),
  "err-429": says(["Err [[mock:err429]]"], { env: once }),
  "err-cut-stream": says(["Err [[mock:cutmid]]"], { env: once }),
  "resource-link": says([({ workspace }) => [
    text("See [[mock:plain]] "),
    { type: "resource_link", uri: `file://${workspace}/hello.txt`, name: "hello.txt" },
    { type: "resource_link", uri: "https://example.test/page", name: "page" },
    text(" and tell me"),
  ]]),
  "embedded-resource": says([({ workspace }) => [
    text("See [[mock:plain]] "),
    { type: "resource", resource: { uri: `file://${workspace}/hello.txt`, mimeType: "text/plain", text: "embedded text of hello" } },
    { type: "resource", resource: { uri: `file://${workspace}/pic.png`, mimeType: "image/png", blob: PNG } },
  ]]),
  "slash-custom": says(["/say-it to me"]),
  "slash-context": says(["/context", "/cost", "/mcp", "/nosuchcommand"]),
  "slash-compact": says(["hello [[mock:plain]]", "/compact"]),
  "slash-clear": says(["hello [[mock:plain]]", "/clear", "again [[mock:plain]]"]),
  "steering": {
    run: async (x) => {
      const first = x.prompt("Talk [[mock:slow2]]");
      await x.text();
      await x.ask("_session/steering", { prompt: [text("steer me [[mock:plain]]")] });
      await first;
      await sleep(1500);
    },
  },
  "load-resume": {
    mode: "default", permission: "allow_once",
    run: async (x) => {
      const place = { cwd: x.workspace, mcpServers: [] };
      for (const words of ["Edit it [[mock:edit]]", "Think [[mock:thinking]]", "Delegate [[mock:subagent]]"]) await x.prompt(words);
      await sleep(600);
      await x.restart();
      await x.ask("session/load", place);
      await sleep(500);
      await x.prompt("More [[mock:plain]]");
      await sleep(400);
      await x.restart();
      await x.ask("session/resume", place);
      await sleep(500);
      await x.prompt("More [[mock:plain]]");
      await x.ask("session/load", { ...place, sessionId: "00000000-0000-4000-8000-000000000000" });
      await sleep(500);
    },
  },
};
