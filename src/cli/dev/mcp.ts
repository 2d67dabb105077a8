/**
 * With `dev --open`: an MCP server behind the dev provider, so that a client tries open sign-ins
 * (docs/open.md) without any configuration. It has one tool, and keeps nothing.
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/authorization
 */
import { type Context, Hono } from 'hono';
import { CLIENT_ID } from './relay.ts';

const SCOPES = ['profile'];

const WHOAMI = {
  name: 'whoami',
  description: 'Says who has signed in.',
  inputSchema: { type: 'object' },
};

/** `redirectUri`: that of the relay's open sign-ins, the only one that a client can register. */
export function createMcpServer(
  providerUrl: string,
  redirectUri: string,
  readUser: (c: Context) => string | undefined,
) {
  const metadataUrl = `${providerUrl}/.well-known/oauth-protected-resource/mcp`;

  async function answer(c: Context): Promise<Response> {
    const user = readUser(c);
    if (user === undefined) {
      const headers = { 'WWW-Authenticate': `Bearer resource_metadata="${metadataUrl}"` };
      return c.json({ error: 'invalid_token' }, 401, headers);
    }
    const { id, method, params } = Object(await c.req.json().catch(() => undefined));
    // A notification. JSON-RPC 2.0 §4.1.
    if (id === undefined) return c.body(null, 202);
    const result = resultOf(method, Object(params), user);
    const error = { code: -32_601, message: 'Method not found' };
    return c.json({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) });
  }

  return (
    new Hono()
      // RFC 9728 §2.
      .get('/.well-known/oauth-protected-resource/mcp', (c) =>
        c.json({
          resource: `${providerUrl}/mcp`,
          authorization_servers: [providerUrl],
          scopes_supported: SCOPES,
        }),
      )
      // RFC 8414 §2, RFC 9207 §3.
      .get('/.well-known/oauth-authorization-server', (c) =>
        c.json({
          issuer: providerUrl,
          authorization_endpoint: `${providerUrl}/authorize`,
          token_endpoint: `${providerUrl}/token`,
          revocation_endpoint: `${providerUrl}/revoke`,
          registration_endpoint: `${providerUrl}/register`,
          scopes_supported: SCOPES,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_methods_supported: ['none'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        }),
      )
      // RFC 7591 §3. All clients get the same id.
      .post('/register', async (c) => {
        const { redirect_uris } = Object(await c.req.json().catch(() => undefined));
        const isOpen = Array.isArray(redirect_uris) && `${redirect_uris}` === redirectUri;
        // The SDK shows the description, and not the error.
        const error_description = `The relay's redirect URI is ${redirectUri}`;
        if (!isOpen) return c.json({ error: 'invalid_redirect_uri', error_description }, 400);
        const client = { client_id: CLIENT_ID, token_endpoint_auth_method: 'none' };
        return c.json({ ...client, redirect_uris: [redirectUri] }, 201);
      })
      .post('/mcp', answer)
      .all('/mcp', (c) => c.body(null, 405, { Allow: 'POST' }))
  );
}

/** Undefined if there is no such method. */
function resultOf(method: unknown, params: Record<string, unknown>, user: string) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'sign-in-relay-dev', version: '1' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: [WHOAMI] };
    case 'tools/call':
      return { content: [{ type: 'text', text: `You are ${user}.` }] };
    default:
      return undefined;
  }
}
