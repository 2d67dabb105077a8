import { describe, expect, spyOn, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describeApi } from '../../src/http/openapi/document.ts';
import { createTestService } from '../support/test-service.ts';

const CONFIG = await createConfig({
  extends: ['recommended'],
  rules: {
    // A form that was filled in right is answered with a redirect, and with nothing else.
    'operation-2xx-response': 'off',
  },
});

async function lint(source: string): Promise<string[]> {
  const problems = await lintFromString({ source, config: CONFIG });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`,
  );
}

describe('GET /openapi.json', () => {
  test('the document is written once, however often it is asked for', async () => {
    const { send } = createTestService();
    const stringify = spyOn(JSON, 'stringify');
    try {
      const answers = await Promise.all([1, 2, 3].map(() => send('/openapi.json')));
      const [first, ...others] = await Promise.all(answers.map((answer) => answer.text()));
      expect(others).toEqual([first ?? '', first ?? '']);
      const written = stringify.mock.calls.filter(([value]) =>
        Object.hasOwn(Object(value), 'openapi'),
      );
      expect(written).toHaveLength(1);
    } finally {
      stringify.mockRestore();
    }
  });

  test.each(['https://relay.test', 'https://relay.test/sign/in'])(
    '%s: the document breaks no rule of the linter',
    async (baseUrl) => {
      const { send } = createTestService({ baseUrl });
      const answer = await send('/openapi.json');
      expect(await lint(await answer.text())).toEqual([]);
    },
  );

  test('the linter sees what is wrong', async () => {
    const { send } = createTestService();
    const document = await (await send('/openapi.json')).text();
    const unsaid = document.replace('"summary":"A device asks for a link",', '');
    expect(await lint(unsaid)).toEqual([expect.stringContaining('operation-summary')]);
    const nowhere = document.replace('schemas/Started"', 'schemas/Nothing"');
    expect(await lint(nowhere)).toContainEqual(expect.stringContaining('no-unresolved-refs'));
  });

  test.each(['POST', 'HEAD'])('only GET, so %s is 405', async (method) => {
    const { send } = createTestService();
    const answer = await send('/openapi.json', { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
  });

  test('it says where the relay is, path and all, and where RFC 8414 has its metadata', () => {
    const { servers, paths } = describeApi('https://relay.test/sign/in');
    expect(servers).toEqual([{ url: 'https://relay.test/sign/in' }]);
    expect(paths).toHaveProperty(
      ['/.well-known/oauth-authorization-server/sign/in/oauth2/{service}', 'servers'],
      [{ url: 'https://relay.test' }],
    );
  });
});
