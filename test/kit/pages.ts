/** Every page that a user may see, in every state, without a relay. */
import type { Language } from '../../src/pages/messages/catalogue.ts';
import { type Branding, createPages } from '../../src/pages/pages.ts';
import { readPicture } from '../../src/pages/picture.ts';

export function createPagesFor(branding: Branding = {}) {
  return createPages(branding, 'relay.example', '', ['MyAnimeList', 'AniList']);
}

/** What an operator may put on the pages. */
export const BRANDED: Branding = {
  appName: 'Acme TV',
  accent: { light: '#c2410c', dark: '#fdba74' },
  logo: logoOf(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 180 40"><style>text{fill:#7c2d12}@media (prefers-color-scheme:dark){text{fill:#fed7aa}}</style><circle cx="20" cy="20" r="17" fill="#ea580c"/><path d="M15 11v18l15-9z" fill="#fff"/><text x="48" y="29" font-family="sans-serif" font-size="26" font-weight="700">Acme TV</text></svg>',
  ),
  links: {
    privacy: 'https://acme.example/privacy',
    terms: 'https://acme.example/terms',
    support: 'https://acme.example/help',
  },
};

/** Names as long as they may be, which no line has room for. */
export const LONGEST: Branding = {
  ...BRANDED,
  appName: 'Fernsehfernbedienungsherstellerverband-TV'.slice(0, 40),
};

function logoOf(svg: string) {
  const picture = readPicture(svg);
  if ('problem' in picture) throw new Error(picture.problem);
  return picture;
}

const USUAL = {
  provider: 'MyAnimeList',
  providerHost: 'myanimelist.net',
  ageMs: 125_000,
  deviceName: 'Living room TV',
  userCode: 'WDJB-MJHT',
};

/** By name, in the order in which a user may meet them. */
export function renderEveryPage(
  language: Language,
  branding: Branding = {},
): Readonly<Record<string, string>> {
  const { find } = createPagesFor(branding);
  const pages = find(language);
  const isLongest = branding === LONGEST;
  const longest = {
    deviceName: 'W'.repeat(40),
    provider: 'Fernsehprogrammzeitschriftenverlagskonto',
  };
  const REQUEST = isLongest
    ? { ...USUAL, ...longest, providerHost: `${'konto'.repeat(9)}.example` }
    : USUAL;
  const NAMES = { deviceName: REQUEST.deviceName, provider: REQUEST.provider };
  const FAILED = { ...NAMES, reference: 'x7f3kq-2a' };
  const shortLink = 'https://relay.example/L/WDJB-MJHT';
  return {
    home: pages.home,
    'code-form': pages.codeForm,
    'code-incomplete': pages.codeIncomplete('wdjb mj'),
    'code-unknown': pages.codeUnknown('WDJB-MJHT'),
    'too-many-tries': pages.outcome('rate_limited'),
    'not-found': pages.notFound,
    confirm: pages.confirm(REQUEST),
    'confirm-in-app': pages.confirm({ ...REQUEST, isInApp: true, shortLink }),
    'signed-in': pages.outcome('signed_in', NAMES),
    done: pages.outcome('signed_in'),
    declined: pages.outcome('declined', NAMES),
    cancelled: pages.outcome('access_denied', NAMES),
    failed: pages.outcome('authorization_failed', FAILED),
    'failed-refused': pages.outcome('authorization_refused', FAILED),
    incomplete: pages.outcome('missing_code', FAILED),
    'not-exchanged': pages.outcome('exchange_failed', FAILED),
    'not-exchanged-refused': pages.outcome('exchange_refused', FAILED),
    'not-completed': pages.outcome('busy', { reference: FAILED.reference }),
    'link-invalid': pages.outcome('link_invalid'),
    'other-browser': pages.outcome('other_browser', { reference: FAILED.reference }),
    'origin-hidden': pages.outcome('origin_hidden', { reference: FAILED.reference }),
    'failed-before': pages.outcome('failed'),
    'in-progress': pages.outcome('in_progress'),
    'cancelled-on-device': pages.outcome('cancelled'),
  };
}
