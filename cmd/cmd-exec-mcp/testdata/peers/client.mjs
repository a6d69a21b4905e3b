// The official TypeScript client, driven line by line: one JSON object on stdin is one thing to do, one on stdout what came
// of it. Usage: node client.mjs SERVER ARGUMENT...; PEERS_NODE is the folder where the SDK is installed.
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(process.env.PEERS_NODE + "/");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "peer", version: "1" });
const [command, ...args] = process.argv.slice(2);
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

async function call({ arguments: given, progress, cancel }) {
  const options = { timeout: 300_000 };
  const messages = [];
  const stop = new AbortController();
  if (progress) options.onprogress = (p) => messages.push(p);
  if (cancel) {
    options.signal = stop.signal;
    (async () => {
      while (!existsSync(cancel)) await sleep(10);
      stop.abort("the test says so");
    })();
  }
  const result = await client.callTool({ name: "execute_local", arguments: given }, undefined, options);
  return { result, progress: messages };
}

const verbs = {
  server: async () => ({ result: { info: client.getServerVersion(), instructions: client.getInstructions() } }),
  ping: async () => ({ result: await client.ping() }),
  tools: async () => ({ result: await client.listTools() }),
  templates: async () => ({ result: await client.listResourceTemplates() }),
  read: async ({ uri }) => ({ result: await client.readResource({ uri }) }),
  call,
};

for await (const line of createInterface({ input: process.stdin })) {
  const todo = JSON.parse(line);
  const answer = await verbs[todo.do](todo).catch((error) => ({ error: String(error) }));
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await client.close();
