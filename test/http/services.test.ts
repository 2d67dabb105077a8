/** `GET /services` and `POST /refresh` (docs/extensions.md), in what the conformance suite cannot see. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createProviders } from '../../src/providers/provider.ts';
import { refresh } from '../kit/device.ts';
import { ANILIST, acmeAt, createTestService, MAL, type TestService } from '../kit/service.ts';

describe('GET /services', () => {
  const list = async ({ ask }: TestService) => {
    const { services } = (await (await ask('/services')).json()) as { services: object[] };
    return services;
  };

  test('names each provider as users know it, in their order, discovered or not', async () => {
    const service = createTestService({ providers: [ANILIST, acmeAt('https://a.test'), MAL] });
    expect(await list(service)).toEqual([
      { service: 'anilist', name: 'AniList', blind: 'no', revoke: false },
      { service: 'acme', name: 'Acme', blind: 'no', revoke: false },
      { service: 'mal', name: 'MyAnimeList', blind: 'no', revoke: false },
    ]);
  });

  test('cannot reach a client secret through the list of providers', () => {
    const { offered } = createProviders([ANILIST]);
    expect(offered).toEqual([{ name: 'anilist', displayName: 'AniList' }]);
  });

  test('says what the relay speaks', async () => {
    const { extensions } = await (await createTestService().ask('/services')).json();
    const page = readFileSync(new URL('../../docs/extensions.md', import.meta.url), 'utf8');
    const [table = ''] = page.split('\n## ');
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows).toEqual(extensions);
    expect(rows).toContain('challenge');
  });
});

test('POST /refresh and the refresh of the device grant share request and limit', async () => {
  const service = createTestService();
  const post = (body: object, peer?: string) =>
    service.ask('/refresh', { method: 'POST', body: JSON.stringify(body) }, peer);
  const asked = { service: 'anilist', refreshToken: 'old' };
  await post({ ...asked, scope: 'read' });
  const { body } = await refresh(service, 'old', { scope: 'read' }, 'anilist');
  expect(body.access_token).toBe('granted');
  expect(service.sent).toHaveLength(1);
  for (let count = 0; count < 10; count += 1) {
    const form = 'grant_type=refresh_token&refresh_token=old';
    const init = { method: 'POST', body: new URLSearchParams(form) };
    await service.ask('/oauth2/anilist/token', init, '192.0.2.1');
  }
  const limited = await post(asked, '192.0.2.1');
  expect([limited.status, await limited.text()]).toEqual([429, 'Rate limited\n']);
  expect(limited.headers.get('retry-after')).toBe('2');
});
