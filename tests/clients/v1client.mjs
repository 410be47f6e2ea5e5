// A v1 client on the official TypeScript SDK: node v1client.mjs AGENT [ARGS...]
import * as acp from "@agentclientprotocol/sdk";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const agent = spawn(process.argv[2], process.argv.slice(3), { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const client = acp
  .client({ name: "v1client" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    console.log("UPD", params.update.sessionUpdate);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options[0].optionId },
  }));

await client.connectWith(stream, async (agentSide) => {
  const hello = await agentSide.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  console.log("INIT", hello.protocolVersion, hello.agentInfo?.name);
  const session = await agentSide.request(acp.methods.agent.session.new, {
    cwd: process.cwd(),
    mcpServers: [],
  });
  console.log("NEW", session.sessionId);
  const end = await agentSide.request(acp.methods.agent.session.prompt, {
    sessionId: session.sessionId,
    prompt: [{ type: "text", text: "hello" }],
  });
  console.log("STOP", end.stopReason);
});
agent.stdin.end();
