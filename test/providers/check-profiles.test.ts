/** `npm run check-profiles` against providers that have moved, are slow, or cannot be reached. */
import { expect, test } from 'bun:test';
import { checkProfiles } from '../../scripts/check-profiles.ts';
import { readGuides } from '../../src/providers/guides.ts';
import type { Profile } from '../../src/providers/profile.ts';
import { PROFILES } from '../../src/providers/profiles.ts';
import type { Fetch } from '../kit/service.ts';

const DISCORD = PROFILES.get('discord') as Profile;
const { discord: GUIDE = '' } = readGuides();
const LINKS = [...GUIDE.matchAll(/<(https:[^>]+)>/g)].map(([, url = '']) => url);
const [REGISTRATION = '', PAGE = '', OTHER_PAGE = ''] = LINKS;
const METADATA = LINKS.find((url) => url.includes('/.well-known/')) ?? '';

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

const check = (pages: Readonly<Record<string, () => Response>>) =>
  checkProfiles({ discord: GUIDE }, network(pages));

test('providers that are as their profiles say are no news', async () => {
  const { moved, unread, table, hasRead } = await check({});
  expect({ moved, unread, hasRead }).toEqual({ moved: [], unread: [], hasRead: true });
  expect(rowsOf(table)).toContainEqual(['discord', LINKS.length, 0, 0, 0]);
});

test('the table says of each profile how much could be read', async () => {
  const pages = {
    [REGISTRATION]: () => new Response('', { status: 410 }),
    [PAGE]: redirectTo(302, '/sign-in'),
    [OTHER_PAGE]: () => new Response('', { status: 403 }),
  };
  const twin = GUIDE.replace(METADATA, PAGE);
  const { table, unread } = await checkProfiles({ discord: GUIDE, twin }, network(pages));
  const others = LINKS.length - 3;
  expect(rowsOf(table)).toEqual([
    ['profile', 'read', 'sent', 'on', 'moved', 'unread'],
    ['discord', others, 1, 1, 1],
    ['twin', others - 1, 1, 1, 1],
    ['all', others, 1, 1, 1],
  ]);
  expect(unread).toEqual([`discord, twin: ${OTHER_PAGE} answers 403`]);
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
