// An MCP server on stdio with one tool, which adds two numbers.
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

const number = { type: "number" };
const add = {
  name: "add",
  description: "Add two numbers",
  inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
};

function answer(method, params) {
  if (method === "initialize") {
    const serverInfo = { name: "mini", version: "1" };
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") return { tools: [add] };
  if (method === "tools/call") {
    const { a, b } = params.arguments;
    return { content: [{ type: "text", text: String(a + b) }] };
  }
  return {};
}

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines.filter((it) => it.trim())) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined) send({ id, result: answer(method, params) });
  }
});
process.stdin.on("end", () => process.exit(0));
