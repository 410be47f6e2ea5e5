// Work beside a turn: subagents in each form that an editor may show, and commands in the
// background. The names are those of the recordings; child-cancel, subagent-cancel.air and
// bash-bg-terminal were recorded with the peer in the same way.
import { capabilities } from "./air.mjs";
import { sleep } from "./editor.mjs";

const said = (words, after = 700) => async (x) => {
  await x.prompt(words);
  await sleep(after);
};

// A command in the background that ends after the cancelled turn.
const cancelled = async (x) => {
  const first = x.prompt("Bg [[mock:bgcancel]]");
  await x.text();
  await sleep(300);
  x.cancel();
  await first;
  await sleep(7000);
};

const native = { subagents: {} };
const terminals = { _meta: { terminal_output: true } };
const everything = { mode: "bypassPermissions" };
const foreground = { mode: "default", permission: "allow_once", run: said("Delegate [[mock:subagent]]") };
const background = { mode: "default", permission: "allow_once", run: said("Delegate [[mock:subagentbg]]", 4500) };

const begun = (x) => x.editor.heard(({ params }) => /^subagent_(update|spawned)$/.test(params?.update?.sessionUpdate));

export const tasks = {
  "subagent": foreground,
  "subagent-bg": background,
  "subagent-native": { ...foreground, capabilities: native },
  "subagent-bg-native": { ...background, capabilities: native },
  "subagent.air": { ...foreground, capabilities },
  "subagent-bg.air": { ...background, capabilities },
  "child-cancel": {
    ...everything,
    capabilities: native,
    run: async (x) => {
      const beginning = begun(x);
      const first = x.prompt("Delegate [[mock:subagentbg]]");
      const read = x.editor.heard(({ params }) => params?.update?.status === "completed");
      const told = x.editor.heard(({ params }) => params?.update?.content?.text === "nt.");
      const { params } = await beginning;
      await Promise.all([read, told]);
      x.editor.tell("session/cancel", { sessionId: params.update.sessionId });
      await first;
      await sleep(4000);
    },
  },
  "subagent-cancel.air": {
    ...everything,
    capabilities,
    run: async (x) => {
      const beginning = begun(x);
      const first = x.prompt("Delegate [[mock:subagent]]");
      await beginning;
      x.cancel();
      await first;
      await sleep(3000);
    },
  },
  "bash-terminal-meta": { mode: "default", permission: "allow_once", capabilities: terminals, run: said("Run it [[mock:bash]]") },
  "bash-bg": { ...everything, run: said("Background [[mock:bgplain]]", 4500) },
  "bash-bg-terminal": { ...everything, capabilities: terminals, run: said("Background [[mock:bgplain]]", 5500) },
  "cancel-bg-after": { ...everything, run: cancelled },
  "cancel-bg-after.air": { ...everything, capabilities, run: cancelled },
};
