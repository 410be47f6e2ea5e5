// The scenarios of an editor that agreed on the AIR extensions: those of every editor, with its
// capabilities, and a few more. The names are those of the recordings.
import { scenarios } from "./scenarios.mjs";
import { sleep } from "./editor.mjs";

const capabilities = {
  session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
  plan: {},
  elicitation: { form: {}, url: {} },
  _meta: {
    terminal_output_delta: true,
    jetbrains: {
      air: {
        version: 1,
        capabilities: [
          "diffPatch", "rawInputRendering", "sessionFailure", "recommendedValue", "asyncTasks",
          "agentFileChangeReport", "nativeSubagentSessions", "planFile", "backgroundSubagents",
          "loadReplayEnd", "sessionIndex", "sessionBatchGet",
        ],
      },
    },
  },
};

const more = {
  "mcp-tool": {
    mode: "default", permission: "allow_once", run: said("Add [[mock:mcptool]]"),
    mcpServers: [{ name: "mini", command: process.execPath, args: [new URL("./mcp.mjs", import.meta.url).pathname], env: [] }],
  },
  "todo": {
    mode: "default", run: said("Plan [[mock:todo]]"),
    env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1", CLAUDE_CODE_ENABLE_TASKS: "0" },
  },
  "ask-user-question": { mode: "default", run: said("Ask [[mock:ask]]") },
  "exit-plan-approve": { mode: "plan", permission: "allow_once", run: said("Plan [[mock:exitplan]]") },
  "slash-compact": {
    run: async (x) => {
      await x.prompt("hello [[mock:plain]]");
      await x.prompt("/compact");
      await sleep(800);
    },
  },
};

function said(words) {
  return async (x) => {
    await x.prompt(words);
    await sleep(700);
  };
}

const shared = ["plain-text", "bash-allow", "edit-allow", "err-400", "err-529-recover"];
const all = { ...Object.fromEntries(shared.map((name) => [name, scenarios[name]])), ...more };

export const air = Object.fromEntries(
  Object.entries(all).map(([name, scenario]) => [`${name}.air`, { ...scenario, capabilities }]),
);
