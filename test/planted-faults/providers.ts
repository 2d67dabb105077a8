/** Faults of what is sent to providers, and of what is believed of their responses. */
import type { Fault } from './faults.ts';

const TOKEN_ENDPOINT = 'src/providers/token-endpoint.ts';

export const PROVIDER_FAULTS: readonly Fault[] = [
  {
    name: 'a redirect of the provider takes the code and the secret elsewhere',
    file: TOKEN_ENDPOINT,
    before: "keepalive: keepAlive, redirect: 'manual', signal",
    after: "keepalive: keepAlive, redirect: 'follow' as 'manual', signal",
    tests: ['test/serve/provider-connections.test.ts'],
  },
  {
    name: 'a code is sent twice after any failure',
    file: TOKEN_ENDPOINT,
    before: 'if (!keepAlive || !answered.has(url) || !isReset(error)) throw error;',
    after: 'if (!keepAlive || !answered.has(url)) throw error;',
    tests: ['test/serve/provider-connections.test.ts'],
  },
  {
    name: 'a code is sent twice to a provider that has never answered',
    file: TOKEN_ENDPOINT,
    before: 'if (!keepAlive || !answered.has(url) || !isReset(error)) throw error;',
    after: 'if (!keepAlive || !isReset(error)) throw error;',
    tests: ['test/providers/connections.test.ts'],
  },
  {
    name: 'one provider that hangs keeps the others from signing in',
    file: TOKEN_ENDPOINT,
    before: 'if (allInProgress >= maxInProgress || own >= maxOfProvider) {',
    after: 'if (allInProgress >= maxInProgress || own >= maxInProgress) {',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'a compressed response of a provider is read without a limit',
    file: TOKEN_ENDPOINT,
    before:
      "const isExact = !headers.has('transfer-encoding') && !headers.has('content-encoding');",
    after: "const isExact = !headers.has('transfer-encoding');",
    tests: ['test/providers/exchange.test.ts'],
  },
  {
    name: 'devices discard their tokens while the provider is down',
    file: TOKEN_ENDPOINT,
    before: 'if (status >= 500 || status === 429) return undefined;',
    after: '',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'a provider that never ends its response holds a callback for ever',
    file: TOKEN_ENDPOINT,
    before: '  onDue(): void {\n    this.abort();\n  }',
    after: '  onDue(): void {}',
    tests: ['test/serve/provider-connections.test.ts'],
  },
  {
    name: 'codes go over plain http to a host whose name begins with localhost',
    file: 'src/providers/url.ts',
    before: '(localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\])$/',
    after: '(localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\])/',
    tests: ['test/settings/providers.test.ts'],
  },
  {
    name: 'an issuer can speak for another',
    file: 'src/providers/discovery.ts',
    before: 'if (metadata.issuer !== issuer) {',
    after: 'if (!metadata.issuer.startsWith(issuer)) {',
    tests: ['test/providers/discovery.test.ts'],
  },
  {
    name: 'a discovery document is read from wherever an issuer redirects to',
    file: 'src/providers/discovery.ts',
    before: `redirect: 'manual',`,
    after: `redirect: 'follow' as 'manual',`,
    tests: ['test/providers/discovery.test.ts'],
  },
  {
    name: 'an https issuer sends codes to plain http on this machine',
    file: 'src/providers/discovery.ts',
    before: `(isPlain(url) && !isPlain(issuer) ? 'must be https, as its issuer is' : undefined);`,
    after: 'undefined;',
    tests: ['test/providers/discovery.test.ts'],
  },
];
