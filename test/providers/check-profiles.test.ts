/** `npm run check-profiles` against providers that have moved, are slow, or cannot be reached. */
import { expect, test } from 'bun:test';
import { checkProfiles } from '../../scripts/check-profiles.ts';
import { PROFILES } from '../../src/providers/known.ts';
import type { Profile } from '../../src/providers/profile.ts';
import type { Fetch } from '../kit/service.ts';

const DISCORD = PROFILES.get('discord') as Profile;
const METADATA = DISCORD.metadata ?? '';

/** What Discord's metadata says. */
const published = {
  issuer: 'https://discord.com',
  authorization_endpoint: DISCORD.authorizeUrl,
  token_endpoint: DISCORD.tokenUrl,
  revocation_endpoint: DISCORD.revocation?.url,
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  code_challenge_methods_supported: ['S256'],
};

/** A network in which every page is there, apart from these. */
function network(pages: Readonly<Record<string, () => Response>>): Fetch {
  return async (url) => {
    const page = pages[url] ?? (url === METADATA ? () => Response.json(published) : undefined);
    return page?.() ?? new Response('a page');
  };
}

const rowsOf = (table: string) =>
  table
    .split('\n')
    .map((row) => row.split(/\s+/).map((cell) => (/^\d+$/.test(cell) ? +cell : cell)));

const redirectTo = (status: number, location: string) => () =>
  new Response(null, { status, headers: { location } });

const check = (pages: Readonly<Record<string, () => Response>>, profile = DISCORD) =>
  checkProfiles([['discord', profile]], network(pages));

test('providers that are as their profiles say are no news', async () => {
  const { moved, unread, table, hasRead } = await check({});
  expect({ moved, unread, hasRead }).toEqual({ moved: [], unread: [], hasRead: true });
  expect(rowsOf(table)).toContainEqual(['discord', DISCORD.sources.length + 2, 0, 0, 0]);
});

test('the table says of each profile how much could be read', async () => {
  const [first = '', second = ''] = DISCORD.sources;
  const pages = {
    [first]: redirectTo(302, '/sign-in'),
    [second]: () => new Response('', { status: 403 }),
    [DISCORD.registration]: () => new Response('', { status: 410 }),
  };
  const profiles = ['discord', 'twin'].map((name) => [name, DISCORD] as const);
  const { table, unread } = await checkProfiles(profiles, network(pages));
  expect(rowsOf(table)).toEqual([
    ['profile', 'read', 'sent', 'on', 'moved', 'unread'],
    ['discord', 1, 1, 1, 1],
    ['twin', 1, 1, 1, 1],
    ['all', 2, 1, 1, 1],
  ]);
  expect(unread).toEqual([`discord, twin: ${second} answers 403`]);
});

test.each([
  ['token_endpoint', 'https://discord.com/api/v99/token', 'token endpoint'],
  ['code_challenge_methods_supported', ['plain'], 'PKCE S256 is none'],
  ['token_endpoint_auth_methods_supported', ['private_key_jwt'], 'client_secret_post is missing'],
])('metadata with another %s is reported', async (field, value, expected) => {
  const { moved } = await check({
    [METADATA]: () => Response.json({ ...published, [field]: value }),
  });
  expect(moved).toEqual([expect.stringContaining(expected)]);
  expect(moved[0]).toStartWith('discord: ');
});

const [PAGE = ''] = DISCORD.sources;

test.each([
  ['is gone (404)', () => new Response('', { status: 404 })],
  ['has moved to https://new.example/docs', redirectTo(301, 'https://new.example/docs')],
  ['has moved to', redirectTo(308, '/elsewhere')],
])('a page that %s is reported', async (problem, page) => {
  const { moved, unread } = await check({ [PAGE]: page });
  expect({ moved, unread }).toEqual({ moved: [expect.stringContaining(problem)], unread: [] });
});

test('what cannot be read has not moved', async () => {
  const broken = () => {
    throw new TypeError('fetch failed');
  };
  for (const page of [
    broken,
    () => new Response('', { status: 503 }),
    () => new Response('', { status: 403 }),
    redirectTo(301, 'http://['),
  ]) {
    expect(await check({ [PAGE]: page })).toMatchObject({
      moved: [],
      unread: [expect.stringContaining(PAGE)],
    });
  }
  expect(await check({ [METADATA]: () => new Response('{') })).toMatchObject({ moved: [] });
});
