/** `dev --open`: MCP clients of the official SDK sign in without any configuration. docs/dev.md "Open sign-ins". */
import { afterAll, expect, test } from 'bun:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { relayProvider } from '../../client/src/mcp.ts';
import { createMemory } from '../../client/src/storage.ts';
import { startDev } from '../kit/dev.ts';

const dev = await startDev({ args: ['--open'] });
afterAll(() => dev.stop());

async function connect(): Promise<Client> {
  const server = new URL(`${dev.providerUrl}/mcp`);
  const storage = createMemory();
  const place = { relay: dev.relayUrl, server, storage };
  const authProvider = relayProvider({ ...place, onPrompt() {} });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(server, { authProvider }) as Transport);
  return client;
}

test.each(['approve', 'slow', 'cut-off', 'restart', 'refresh-rotates'])(
  '%s: the client lists and calls the tool, which knows the user',
  async (ending) => {
    await dev.plan({ ending, auto: true, seconds: 1 });
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['whoami']);
    expect(await client.callTool({ name: 'whoami' })).toEqual({
      content: [{ type: 'text', text: 'You are Ada.' }],
    });
    await client.close();
    await dev.untilShown('the relay has the code, which the device exchanges itself');
    expect(dev.output()).not.toContain('received tokens');
  },
);

test.each([
  ['deny', 'access_denied'],
  ['no-code', 'missing_code'],
])('%s: connecting ends with %s', async (ending, code) => {
  await dev.plan({ ending, auto: true });
  await expect(connect()).rejects.toMatchObject({ code });
});

test('only the relay can be registered, and without --open there is no MCP server', async () => {
  const register = (redirectUri: string) =>
    dev.askProvider('/register', {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [redirectUri] }),
    });
  expect((await register(`${dev.relayUrl}/open/callback`)).status).toBe(201);
  expect((await register('https://other.example/callback')).status).toBe(400);
  await using other = await startDev();
  expect((await other.askProvider('/mcp', { method: 'POST' })).status).toBe(404);
  expect((await other.ask('/open', { method: 'POST', body: '{}' })).status).toBe(404);
});
