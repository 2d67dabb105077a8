/** `GET /services` (docs/extensions.md), in what the conformance suite cannot see. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createProviders } from '../../src/providers/provider.ts';
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
