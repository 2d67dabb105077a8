/** `npm run check-profiles` against providers that have moved, are slow, or cannot be reached. */
import { expect, test } from 'bun:test';
import { checkProfiles } from '../../scripts/check-profiles.ts';
import { readGuides } from '../../src/providers/guides.ts';
import { PROFILES, type Profile } from '../../src/providers/profiles.ts';
import type { Fetch } from '../kit/service.ts';

const DISCORD = PROFILES.get('discord') as Profile;
const { discord: GUIDE = '' } = readGuides();
const LINKS = [...GUIDE.matchAll(/<(https:[^>]+)>/g)].map(([, url = '']) => url);
const [, PAGE = ''] = LINKS;
const [, FLOW = ''] = /<(https:[^>]+)>/.exec(DISCORD.deviceFlow ?? '') ?? [];
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

const redirectTo = (status: number, location: string) => () =>
  new Response(null, { status, headers: { location } });

const check = (pages: Readonly<Record<string, () => Response>>) =>
  checkProfiles({ discord: GUIDE }, network(pages));

const says = (document: object) => () => Response.json({ ...published, ...document });

test.each<[page: string, () => Response, problem: string]>([
  [METADATA, says({ token_endpoint: 'https://discord.com/api/v99/token' }), 'token endpoint'],
  [METADATA, says({ code_challenge_methods_supported: ['plain'] }), 'PKCE S256 is none'],
  [
    METADATA,
    says({ token_endpoint_auth_methods_supported: ['private_key_jwt'] }),
    'client_secret_post is missing',
  ],
  [PAGE, () => new Response('', { status: 404 }), 'is gone (404)'],
  [FLOW, () => new Response('', { status: 410 }), 'is gone (410)'],
  [PAGE, redirectTo(301, 'https://new.example/docs'), 'has moved to https://new.example/docs'],
  [PAGE, redirectTo(308, '/elsewhere'), 'has moved to'],
])('what has moved at %s is reported', async (page, answer, problem) => {
  const { moved, unread } = await check({ [page]: answer });
  expect({ moved, unread }).toEqual({ moved: [expect.stringContaining(problem)], unread: [] });
  expect(moved[0]).toStartWith('discord: ');
});

test('what cannot be read has not moved', async () => {
  const page = () => new Response('', { status: 503 });
  const { moved, unread } = await check({ [PAGE]: page });
  expect({ moved, unread }).toEqual({ moved: [], unread: [expect.stringContaining(PAGE)] });
});
