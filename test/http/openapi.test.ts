/** GET /openapi.json (docs/api.md). Every answer to a device in the tests is checked against this document (kit/api-document.ts). */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { createTestService } from '../kit/service.ts';

const CONFIG = await createConfig({
  extends: ['recommended'],
  // Some paths refuse nothing but other methods.
  rules: { 'operation-4xx-response': 'off' },
});

async function lint(source: string): Promise<string[]> {
  const problems = await lintFromString({ source, config: CONFIG });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`,
  );
}

async function fetchDocument(baseUrl = 'https://relay.test'): Promise<string> {
  return (await createTestService({ baseUrl }).ask('/openapi.json')).text();
}

test.each(['https://relay.test', 'https://relay.test/sign/in'])(
  '%s: the document breaks no rule of the linter',
  async (baseUrl) => {
    expect(await lint(await fetchDocument(baseUrl))).toEqual([]);
  },
);

test('it names the public address with its path, and where RFC 8414 has the metadata', async () => {
  const text = await fetchDocument('https://relay.test/sign/in');
  const { servers, paths } = JSON.parse(text);
  expect(servers).toEqual([{ url: 'https://relay.test/sign/in' }]);
  expect(paths).toHaveProperty(
    ['/.well-known/oauth-authorization-server/sign/in/oauth2/{service}', 'servers'],
    [{ url: 'https://relay.test' }],
  );
  // The examples too.
  expect(text).not.toMatch(/relay\.test\/(?!sign\/in)/);
});

/** Each answer that a service of the tests gives is checked. These come up in no other test. */
test.each<[path: string, status: number, init?: RequestInit]>([
  ['/.well-known/oauth-authorization-server/oauth2/mal', 200],
  ['/.well-known/oauth-authorization-server/oauth2/nobody', 404],
  ['/auth/result?session=x&wait=x', 400],
  ['/qr/BCDF-GHJK.png?size=x', 400],
  ['/oauth2/nobody/device_authorization', 404, { method: 'POST' }],
  ['/oauth2/nobody/token', 404, { method: 'POST' }],
  ['/oauth2/nobody/revoke', 404, { method: 'POST' }],
])('the document describes the answer of %s: %d', async (path, status, init) => {
  expect((await createTestService().ask(path, init)).status).toBe(status);
});

test("every endpoint is in the stranger's cost table of docs/security.md", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const page = read('docs/security.md');
  const table = page.slice(page.indexOf("## A stranger's cost table"));
  const routes = (read('src/http/routes.ts') + read('src/http/health.ts')).matchAll(
    /path: '([^*']+)'/g,
  );
  const asWritten = [...routes].map(([, path]) => `\`${path?.replace(/:(\w+)/g, '<$1>')}\``);
  expect(asWritten.length).toBeGreaterThan(20);
  expect(asWritten.filter((path) => !table.includes(path))).toEqual([]);
});
