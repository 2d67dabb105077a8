/**
 * An MCP client for a machine without a browser: shows a QR code, waits until the user has signed
 * in on a phone, and lists the tools of the server. docs/open.md.
 *
 *   npm install sign-in-relay-client @modelcontextprotocol/sdk lean-qr
 *   node client.mjs https://relay.example https://mcp.example/mcp
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { generate } from 'lean-qr';
import { relayProvider } from 'sign-in-relay-client/mcp';
import { fileStorage } from 'sign-in-relay-client/node';

const [, , relay, server] = process.argv;
if (!server) {
  print('Usage: node client.mjs RELAY SERVER');
  process.exit(2);
}

const storage = fileStorage(join(homedir(), '.config/mcp-client'));
const authProvider = relayProvider({ relay, server, storage, onPrompt, name: 'A shell' });
const client = new Client({ name: 'a-shell', version: '1.0.0' });

try {
  const transport = new StreamableHTTPClientTransport(new URL(server), { authProvider });
  // The SDK's own minute is too short for a user.
  await client.connect(transport, { timeout: 600_000 });
  for (const { name, description } of (await client.listTools()).tools) {
    print(`${name}: ${description}`);
  }
  await client.close();
} catch (error) {
  // `show` of a sign-in that failed is for the user. Some errors of the SDK have no message.
  print(error.show || error.message || error.name);
  process.exitCode = 1;
}

/** Called again with another link when this one has expired. */
function onPrompt({ link, userCode, verificationUrl, expiresIn }) {
  // Two columns for each module, since a character is higher than wide.
  print(generate(link).toString({ on: '  ', off: '██', padX: 4, padY: 2 }));
  print(`Scan the code, or open ${link}`);
  print(`or type ${userCode} at ${verificationUrl} within ${Math.floor(expiresIn / 60)} minutes.`);
}

function print(text) {
  process.stdout.write(`${text}\n`);
}
