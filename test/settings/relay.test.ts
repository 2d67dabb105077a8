/** The relay's own settings. */
import { describe, expect, test } from 'bun:test';
import { INVISIBLE } from '../kit/random.ts';
import { faultsOf, settingsOf, testRules } from './read.ts';

test('an empty environment gives the limits of the protocol and a disabled relay', () => {
  expect(settingsOf({})).toEqual({
    port: 8080,
    adminHost: '127.0.0.1',
    adminNames: [],
    trustedProxyCidrs: [],
    providers: [],
    sessionSeconds: 600,
    pollSeconds: 50,
    maxSessions: 5000,
    startBurst: 3,
    startRatePerSecond: 1,
    confirm: 'code',
    blind: 'allow',
    branding: { links: {} },
    corsOrigins: [],
    logLevel: 'info',
  });
});

test('SESSIONS_FILE must not be set with REDIS_URL', () => {
  const env = { SESSIONS_FILE: '/var/lib/relay/sessions.db', REDIS_URL: 'redis://redis:6379' };
  expect(faultsOf(env)).toEqual([
    'SESSIONS_FILE must not be set with REDIS_URL: sign-ins are in one of them',
  ]);
});

test('ADMIN_PORT must not be PORT', () => {
  expect(faultsOf({ PORT: '9090', ADMIN_PORT: '9090' })).toEqual([
    'ADMIN_PORT must not be the same as PORT',
  ]);
});

test('an empty or blank setting counts as not set', () => {
  const blank = { OAUTH_BASE_URL: '', PORT: ' ', MAL_CLIENT_ID: '', PROVIDERS: '' };
  expect(settingsOf(blank)).toEqual(settingsOf({}));
});

/** A whole number of a range, given by its ends. */
function wholeNumber(setting: string, path: string, from: number, to: number) {
  const refused = `${from - 1} | ${to + 1} | ${from}.5 | 0x1 | 1e1 | 1_0 | ten`;
  return {
    setting,
    path,
    reads: { [from]: from, [` ${to} `]: to },
    refuses: { [`must be a whole number from ${from} to ${to}`]: refused },
  };
}

const LINK = 'https://acme.example/page?x=y#z';
const noLinks = {
  'must be an https URL, without user name':
    'http://acme.example | acme.example | javascript:alert(1) | https://me@acme.example',
};

function redisAt(target: object, ...hosts: string[]) {
  const addresses = hosts.map((each) => {
    const [, host, port] = /(.+):(\d+)/.exec(each) ?? [];
    return { host, port: Number(port) };
  });
  return expect.objectContaining({
    target: expect.objectContaining({ ...target, ...(hosts.length > 0 && { addresses }) }),
  });
}

testRules([
  {
    setting: 'OAUTH_BASE_URL',
    path: 'baseUrl',
    keeps:
      'https://relay.example | HTTPS://Relay.example:8443 | http://[::1]:8080 | https://relay.example/a,b;c%3B/~d//e | https://relay.example/auth | https://relay.example/auth/v1 | https://relay.example/link',
    reads: {
      'https://relay.example///': 'https://relay.example',
      'https://relay.example/tv/': 'https://relay.example/tv',
      '  http://localhost:8080/ ': 'http://localhost:8080',
    },
    refuses: {
      'must be an http(s) URL such as https://relay.example':
        'ftp://relay.example | https:relay.example | https:// | https://relay.example\\x | https://relay example | https://relay.example?x=1 | https://relay.example? | https://relay.example/# | https://user@relay.example | https://relay.example:99999 | https://relay.example/a"b | https://re"lay.example | https://relay.example/<tv> | https://relay.example/a\x1bb | https://relay.example/\0 | https://relay.example/\ud800',
      'has no scheme: it must begin with https://':
        'relay.example | relay.example:8443/tv | localhost',
      'must be https://xn--bcher-kva.example/%C3%A9: a URL has only ASCII characters':
        'https://bücher.example/é/',
      'must have a path that does not begin with //, since a redirect to it would lead to another host':
        'https://relay.example//tv',
      'must be https://relay.example/tv: the relay adds /auth/mal/callback itself':
        'https://relay.example/tv/auth/mal/callback/',
      'must be https://relay.example: the relay adds /auth/start itself':
        'https://relay.example/auth/start',
      'must be https://relay.example: the relay adds /oauth2/mal itself':
        'https://relay.example/oauth2/mal',
      'must be https://relay.example: the relay adds /oauth2/mal/token itself':
        'https://relay.example/oauth2/mal/token',
    },
  },
  {
    setting: 'HOST',
    path: 'host',
    keeps: '127.0.0.1 | :: | localhost | relay-1.internal',
    refuses: {
      'must be an IP address or a host name, such as 127.0.0.1 or ::; PORT sets the port':
        '0.0.0.0:80 | http://localhost | [::] | a b | fe80::1%eth0 | unix:/run/relay.sock',
    },
  },
  wholeNumber('PORT', 'port', 0, 65_535),
  {
    setting: 'ADMIN_NAMES',
    path: 'adminNames',
    reads: { 'relay-1.internal, Relay.svc': ['relay-1.internal', 'Relay.svc'] },
    refuses: {
      'must be only host names, such as relay-1.internal;':
        'relay.internal:9090 | http://relay.internal | *.internal | .internal',
    },
  },
  {
    setting: 'ADMIN_TOKEN',
    path: 'adminToken',
    keeps: ['0f1e2d3c4b5a6978', 'aA0-._~+/aaaaaaaaaaa=='],
    refuses: {
      'must be at least 16 letters, digits or characters of -._~+/ and no space or line break': [
        '0f1e2d3c4b5a697',
        '0f1e2d3c 4b5a6978',
        ' 0f1e2d3c4b5a6978',
        '0f1e2d3c4b5a6978\t',
        '0f1e2d3c4b5a6978\n',
        'a:b1e2d3c4b5a6978',
        'ä0f1e2d3c4b5a6978',
        '=================',
      ],
    },
  },
  wholeNumber('SESSION_SECONDS', 'sessionSeconds', 1, 86_400),
  {
    setting: 'START_RATE',
    path: 'startRatePerSecond',
    reads: { '0.001': 0.001, '5': 5, '1000000': 1_000_000 },
    refuses: { 'must be a number above 0 and up to 1000000': '0 | -1 | .5 | 1/s | 1000001' },
  },
  {
    setting: 'TRUSTED_PROXY_CIDRS',
    path: 'trustedProxyCidrs',
    reads: {
      '10.0.0.0/8, 192.0.2.7 fd00::/8,::1\n::ffff:10.0.0.0/104': [
        '10.0.0.0/8',
        '192.0.2.7',
        'fd00::/8',
        '::1',
        '::ffff:10.0.0.0/104',
      ],
      '0.0.0.0/0': ['0.0.0.0/0'],
    },
    // Programs disagree on what they mean, or they mean nothing.
    refuses: {
      'must be CIDRs or addresses such as 10.0.0.0/8,::1;':
        '0x7f.1 | 127.1 | 010.0.0.1 | ::ffff:010.0.0.1 | 0x7f.1/8 | 10.0.0.0/33 | 10.0.0.0/08 | 10.0.0.0/ | 10.0.0.0/8/8 | ::1/129 | fe80::1%eth0 | localhost | 10.0.0.1:80',
      'must be CIDRs or addresses such as 10.0.0.0/8,::1; x is neither': '10.0.0.0/8,x',
    },
  },
  {
    setting: 'REDIS_URL',
    path: 'redis',
    reads: {
      ' redis://redis.example ': expect.objectContaining({ prefix: 'sign-in-relay:' }),
      'rediss+sentinel://one,other/primary': redisAt({ type: 'sentinel', tls: true }),
      'redis://localhost': redisAt({ type: 'single', tls: false }, 'localhost:6379'),
      'redis://127.0.0.1:70/3': redisAt({ type: 'single', database: 3 }, '127.0.0.1:70'),
      'rediss://[::1]:7000': redisAt({ type: 'single', tls: true }, '::1:7000'),
      'redis://:p%40ss@h': redisAt({ password: 'p@ss' }),
      'redis://user:p:a@ss@h': redisAt({ username: 'user', password: 'p:a@ss' }),
      'redis://a:1,b:2,c': redisAt({ type: 'cluster' }, 'a:1', 'b:2', 'c:6379'),
      'redis+sentinel://u:p@a,b:5/main': redisAt(
        { type: 'sentinel', primaryName: 'main', username: 'u' },
        'a:26379',
        'b:5',
      ),
    },
    refuses: {
      'must be redis://host:port or rediss:// (TLS), with several hosts for a Cluster, or redis+sentinel://host:port,…/primary; percent-encode %, @ and / in a password':
        'http://redis.example | redis.example | localhost:6379 | redis:// | redis://a:99999 | redis://a:1,b:2/3 | redis+sentinel://a | redis://a/x | redis://a b | redis://a, | redis://:50%off@redis.example | redis://%zz:x@a',
    },
  },
  {
    setting: 'CONFIRM',
    path: 'confirm',
    keeps: 'always | code',
    reads: { ' Code ': 'code' },
    refuses: { 'must be always or code': 'yes | true | codes | never' },
  },
  {
    setting: 'CORS_ORIGINS',
    path: 'corsOrigins',
    reads: {
      'https://tv.example, http://localhost:3000 null,file://\ncapacitor://localhost': [
        'https://tv.example',
        'http://localhost:3000',
        'null',
        'file://',
        'capacitor://localhost',
      ],
      'http://[::1]:8080': ['http://[::1]:8080'],
      'https://xn--bcher-kva.example': ['https://xn--bcher-kva.example'],
      ' * ': ['*'],
    },
    refuses: {
      // No browser sends these.
      'must contain https://tv.example instead of https://':
        'https://tv.example/ | null,https://tv.example/app?x#y | https://TV.example | https://tv.example:443',
      'must contain https://xn--bcher-kva.example instead of': 'https://bücher.example',
      'must contain file:// instead of file:///': 'file:///',
      'must be origins, without user name and password (@)':
        'https://user@tv.example | me:password@tv',
      'must be origins such as https://tv.example, or null, file:// or *;':
        'tv.example | localhost:3000 | https:tv.example | https:// | https://tv\\x | x',
      // A * with others, or within one, would promise what it does not do.
      'must be only *, or a list without *': '*,https://tv.example',
      'must not contain * within an origin, as in https://*.example': 'https://*.example',
    },
  },
  {
    setting: 'APP_NAME',
    path: 'branding.appName',
    keeps:
      'A | Acme TV | Acme\u00a0TV | アニメ | 👨‍👩‍👧‍👦 TV | ❤️‍🔥 | تلویزیون می‌بینم | טלוויזיה | শ্রী র‍্যাব',
    reads: { [` ${'📺'.repeat(40)} `]: '📺'.repeat(40) },
    refuses: {
      'must be 1 to 40 visible characters': [
        'x'.repeat(41),
        '\u0301',
        '\u0301Acme',
        `Acme${'\u0301'.repeat(5)}`,
      ],
      'must not contain invisible characters': INVISIBLE.map((invisible) => `Acme${invisible}TV`),
    },
  },
  {
    setting: 'ACCENT',
    path: 'branding.accent',
    reads: {
      '#E50914': { light: '#e50914', dark: '#e50914' },
      ' #c2410c, #fdba74 ': { light: '#c2410c', dark: '#fdba74' },
      '#13c #9CF': { light: '#1133cc', dark: '#99ccff' },
      '#fff': { light: '#ffffff', dark: '#ffffff' },
    },
    refuses: {
      'must be a colour such as #c2410c, or two, for light and for dark':
        'red | c2410c | #12345 | #12345678 | #123,#456,#789',
    },
  },
  { setting: 'PRIVACY_URL', path: 'branding.links.privacy', keeps: LINK, refuses: noLinks },
  { setting: 'TERMS_URL', path: 'branding.links.terms', keeps: LINK, refuses: noLinks },
  {
    setting: 'SUPPORT_URL',
    path: 'branding.links.support',
    keeps: `${LINK} | mailto:help@acme.example | mailto:help@acme.example?subject=Sign-in%20on%20a%20TV`,
    refuses: noLinks,
  },
  {
    setting: 'NOTIFY_URL',
    path: 'notifyUrl',
    keeps: 'https://ntfy.example/topic | http://127.0.0.1:9000/#ntfy',
    reads: { ' https://ntfy.example/topic\n': 'https://ntfy.example/topic' },
    refuses: {
      'must be an http or https URL without a user name or password':
        'ntfy.example/topic | https://me:secret@ntfy.example | https://ntfy.example/a b',
    },
  },
  {
    setting: 'LOG_LEVEL',
    path: 'logLevel',
    keeps: 'debug | info | warning | error',
    reads: { Warn: 'warning' },
    refuses: { 'must be debug, info, warning or error': 'loud' },
  },
]);

test('the credentials of Sentinels are not those of the data, and may be in files', () => {
  const REDIS_URL = 'redis+sentinel://data:one@redis.example/main';
  const file = '/run/secrets/sentinel';
  const env = { REDIS_SENTINEL_USERNAME: 'watch', REDIS_SENTINEL_PASSWORD_FILE: file };
  expect(settingsOf({ REDIS_URL, ...env }, { [file]: 'two\n' }).redis?.target).toMatchObject({
    username: 'data',
    password: 'one',
    sentinelUsername: 'watch',
    sentinelPassword: 'two',
  });
});

testRules(
  [
    {
      setting: 'REDIS_PREFIX',
      path: 'redis.prefix',
      keeps: 'relay:',
      refuses: {
        'must be 1 to 64 characters without spaces or braces, such as relay:': `{relay} | a b | ${'x'.repeat(65)}`,
      },
    },
  ],
  { REDIS_URL: 'redis://redis.example' },
);

test.each([
  ['NODE_TLS_REJECT_UNAUTHORIZED', '0', 'must not be 0'],
  ...['curl', 'true', '1'].map((value) => ['BUN_CONFIG_VERBOSE_FETCH', value, 'must not be set']),
])('%s=%s would give secrets away, so it is refused', (name = '', value = '', problem) => {
  expect(faultsOf({ [name]: value })).toEqual([expect.stringContaining(`${name} ${problem}: `)]);
  expect(faultsOf({ NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([]);
});

describe('LOGO', () => {
  const PNG = '\x89PNG\r\n\x1a\n\0\xff';
  const SVG =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z" style="fill:url(#g)"/></svg>';
  const base64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64');

  test.each([
    ['image/png', PNG],
    ['image/jpeg', '\xff\xd8\xff\xe0'],
    ['image/webp', 'RIFF\0\0\0\0WEBPVP8 '],
    ['image/svg+xml', SVG],
    ['image/svg+xml', `<?xml version="1.0"?>\n<!-- made by hand -->\n${SVG}`],
  ])('%s: from a file or a data: URI; the bytes decide the type', (mediaType, bytes) => {
    const logo = { mediaType, base64: base64(bytes) };
    expect(settingsOf({ LOGO: '/logo' }, { '/logo': bytes }).branding.logo).toEqual(logo);
    const uri = `data:text/html;base64,${logo.base64}`;
    expect(settingsOf({ LOGO: uri }).branding.logo).toEqual(logo);
  });

  test('a data: URI may be percent-encoded', () => {
    const { branding } = settingsOf({ LOGO: `data:image/svg+xml,${encodeURIComponent(SVG)}` });
    expect(branding.logo?.base64).toBe(base64(SVG));
  });

  test.each([
    ['no file', '/srv/logo', 'must name a file that can be read: /srv/logo does not exist'],
    ['text', '/text', 'must be a PNG, JPEG, WebP or SVG picture'],
    ['HTML', '/html', 'must be a PNG, JPEG, WebP or SVG picture'],
    ['too large', '/large', 'must have at most 128 KiB, not 129 KiB'],
    ['an address', 'https://acme.example/logo.png', 'must be the path of a file, or a data: URI'],
    ['an empty data: URI', 'data:image/png;base64,', 'must be a data: URI with a picture in it'],
  ])('%s is refused', (_, logo, problem) => {
    const files = {
      '/text': 'Acme',
      '/html': '<html><svg></svg>',
      '/large': PNG + 'x'.repeat(131_072),
    };
    expect(faultsOf({ LOGO: logo }, files)).toEqual([expect.stringContaining(`LOGO ${problem}`)]);
  });
});
