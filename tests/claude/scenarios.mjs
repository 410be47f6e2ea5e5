// What an editor does in each scenario. The names are those of the recordings.
import { Editor, environment, sleep } from "./editor.mjs";

const text = (words) => ({ type: "text", text: words });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// One prompt. `mode` is set before it, `allow` answers permissions, `env` is added.
const one = (words, more = {}) => ({
  ...more,
  run: async (x) => {
    await x.prompt(words);
    await sleep(700);
  },
});

// A turn that streams, and a cancel in its middle, between what `before` and `after` do.
const cancelled = (steps) => ({
  run: async (x) => {
    const first = x.prompt("Talk [[mock:slow]]");
    await x.text();
    await steps(x, first);
    await sleep(1500);
  },
});

export const scenarios = {
  "plain-text": one("Say hello [[mock:plain]]"),
  "thinking": one("Think [[mock:thinking]]"),
  "image": one([text("What is this? [[mock:plain]]"), { type: "image", mimeType: "image/png", data: PNG }]),
  "read": one("Read it [[mock:read]]", { mode: "default" }),
  "bash-allow": one("Run it [[mock:bash]]", { mode: "default", permission: "allow_once" }),
  "bash-deny": one("Run it [[mock:bash]]", { mode: "default", permission: "reject_once" }),
  "edit-allow": one("Edit it [[mock:edit]]", { mode: "default", permission: "allow_once" }),
  "refusal": one("Bad [[mock:refusal]]"),
  "err-400": one("Err [[mock:err400]]"),
  "err-529": one("Err [[mock:err529]]", { env: { CLAUDE_CODE_MAX_RETRIES: "2" } }),
  "err-529-recover": one("Err [[mock:err529once]]"),
  "cancel-mid": cancelled(async (x, first) => {
    await sleep(500);
    x.cancel();
    await first;
  }),
  "cancel-queued": cancelled(async (x, first) => {
    const second = x.prompt("Second [[mock:slow2]]");
    await sleep(700);
    x.cancel();
    await Promise.all([first, second]);
  }),
  "cancel-then-prompt": cancelled(async (x, first) => {
    await sleep(500);
    x.cancel();
    await Promise.all([first, x.prompt("Second [[mock:slow2]]")]);
  }),
  "cancel-wait-then-prompt": cancelled(async (x, first) => {
    await sleep(500);
    x.cancel();
    await first;
    await x.prompt("Second [[mock:slow2]]");
  }),
  "cancel-early": {
    run: async (x) => {
      const first = x.prompt("Talk [[mock:slow]]");
      x.cancel();
      await first;
      await sleep(2500);
    },
  },
  "cancel-idle": {
    run: async (x) => {
      await x.prompt("hi [[mock:plain]]");
      x.cancel();
      await sleep(700);
      await x.prompt("hi [[mock:plain]]");
      await sleep(500);
    },
  },
  "cancel-in-tool": {
    mode: "bypassPermissions",
    run: async (x) => {
      const first = x.prompt("Tool [[mock:slowtool]]");
      await x.editor.heard(({ params }) => /^tool_call/.test(params?.update?.sessionUpdate));
      await sleep(1500);
      x.cancel();
      await first;
      await sleep(2000);
    },
  },
  // What is asked besides prompts: options, lists, forks, providers, and what is refused.
  "modes-config": {
    run: async (x) => {
      const { sessionId, workspace: cwd } = x;
      await x.ask("session/set_mode", { sessionId, modeId: "plan" });
      for (const [configId, value] of [["mode", "acceptEdits"], ["model", "sonnet"], ["effort", "low"], ["fast", "on"], ["ultracode", "on"], ["mode", "nosuch"], ["nosuch", "x"]])
        await x.ask("session/set_config_option", { sessionId, configId, value });
      await x.ask("session/set_model", { sessionId, modelId: "haiku" });
      await x.prompt("hi [[mock:plain]]");
      await x.ask("session/list", { cwd });
      await x.ask("session/fork", { sessionId, cwd, mcpServers: [] });
      await x.ask("session/close", { sessionId });
      await x.prompt("x");
      await x.ask("session/delete", { sessionId });
      await x.ask("session/list", { cwd });
      await x.ask("session/new", { cwd: "relative", mcpServers: [] });
      await x.ask("session/new", { cwd: "/nonexistent-dir", mcpServers: [] });
      await x.ask("nosuch/method", {});
      await x.ask("providers/list", {});
      await x.ask("authenticate", { methodId: "nope" });
      await sleep(500);
    },
  },
  "cancel-in-permission": {
    mode: "default",
    permission: "none",
    run: async (x) => {
      const asked = x.editor.heard(({ method }) => method === "session/request_permission");
      const first = x.prompt("Tool [[mock:bash]]");
      await asked;
      await sleep(300);
      x.cancel();
      await first;
      await sleep(1500);
    },
  },
};

// Plays one against an agent; what went over the pipe is in `recording` then.
export async function play(scenario, agent, { model, home, workspace, recording }) {
  const env = { ...environment(model.port, home), ...agent.env, ...scenario.env };
  let editor;
  const begin = async (flags) => {
    editor = new Editor(agent.command, { cwd: workspace, env, recording, flags });
    editor.answers["session/request_permission"] = async ({ options }) => {
      if (scenario.permission === "none") return new Promise(() => {});
      const chosen = options.find((option) => option.kind === scenario.permission) ?? options[0];
      await sleep(100);
      return { outcome: { outcome: "selected", optionId: chosen.optionId } };
    };
    // The first of what may be chosen.
    editor.answers["elicitation/create"] = async ({ requestedSchema }) => {
      const fields = Object.entries(requestedSchema?.properties ?? {});
      const [name, field] = fields.find(([, it]) => it.oneOf) ?? [];
      return { action: "accept", content: name ? { [name]: field.oneOf[0].const } : {} };
    };
    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, ...scenario.capabilities };
    await editor.ask("initialize", { protocolVersion: 1, clientCapabilities, clientInfo: { name: "recorder", version: "0.1" } });
  };
  // Nothing takes this long; what hangs is ended, and the rest of it answered so.
  const patience = setTimeout(() => editor.agent.kill("SIGKILL"), 60_000);
  try {
    await begin("w");
    const { result, error } = await editor.ask("session/new", { cwd: workspace, mcpServers: scenario.mcpServers ?? [] });
    if (!result) throw new Error(error.message);
    const sessionId = result.sessionId;
    await sleep(400);
    if (scenario.mode) await editor.ask("session/set_mode", { sessionId, modeId: scenario.mode });
    const named = editor.heard(({ params }) => params?.update?.sessionUpdate === "session_info_update").catch(() => {});
    await scenario.run({
      editor, sessionId, workspace,
      // The agent ends and another one begins: what it knew is in files.
      restart: async () => {
        await editor.stop();
        await begin("a");
      },
      prompt: (words) => editor.ask("session/prompt", { sessionId, prompt: typeof words === "string" ? [text(words)] : words }),
      ask: (method, params) => editor.ask(method, { sessionId, ...params }),
      cancel: () => editor.tell("session/cancel", { sessionId }),
      text: () => editor.heard(({ params }) => params?.update?.sessionUpdate === "agent_message_chunk"),
    });
    // Its moment is left open, and machines are busy.
    await Promise.race([named, sleep(10_000)]);
  } finally {
    clearTimeout(patience);
    await editor.stop();
  }
}
