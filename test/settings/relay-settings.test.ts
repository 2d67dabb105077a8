import { describe, expect, test } from 'bun:test';
import { UNSEEN } from '../support/unseen.ts';
import { faultsOf, read, settingsOf } from './read.ts';

describe('the relay’s own settings', () => {
  test('an empty environment gives the limits of the specification and a disabled relay', () => {
    expect(settingsOf({})).toEqual({
      port: 8080,
      trustedProxyCidrs: [],
      providers: [],
      discoveries: [],
      providerKeepAlive: true,
      sessionSeconds: 600,
      pollSeconds: 50,
      maxSessions: 5000,
      deviceGrantRepeatSeconds: 60,
      startBurst: 3,
      startRatePerSecond: 1,
      confirm: 'code',
      corsOrigins: [],
      logLevel: 'info',
    });
  });

  test('an empty or blank setting counts as not set', () => {
    expect(settingsOf({ OAUTH_BASE_URL: '', PORT: ' ', MAL_CLIENT_ID: '', PROVIDERS: '' })).toEqual(
      settingsOf({}),
    );
  });

  test.each([
    ['https://relay.example', 'https://relay.example'],
    ['https://relay.example///', 'https://relay.example'],
    ['https://relay.example/tv/', 'https://relay.example/tv'],
    ['  https://Relay.example:8443 ', 'https://Relay.example:8443'],
    ['HTTPS://Relay.example/', 'HTTPS://Relay.example'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['https://relay.example/a,b%3B/~c//d', 'https://relay.example/a,b%3B/~c//d'],
  ])('OAUTH_BASE_URL %j loses its trailing slashes and is else kept: %j', (written, kept) => {
    expect(settingsOf({ OAUTH_BASE_URL: written }).baseUrl).toBe(kept);
  });

  test.each([
    'relay.example',
    'ftp://relay.example',
    'https:relay.example',
    'https://',
    'https://relay.example\\x',
    'https://relay example',
    'https://relay.example?x=1',
    'https://relay.example?',
    'https://relay.example/#',
    'https://user@relay.example',
    'https://relay.example:99999',
  ])('OAUTH_BASE_URL %j is refused', (written) => {
    expect(faultsOf({ OAUTH_BASE_URL: written })).toEqual([
      expect.stringMatching(/^OAUTH_BASE_URL must be an http\(s\) address/),
    ]);
  });

  test.each([
    'https://relay.example/tv;a=b',
    'https://relay.example/tv;',
    'https://relay.example//tv',
  ])('OAUTH_BASE_URL %j is refused, as cookies and redirects cannot hold its path', (written) => {
    expect(faultsOf({ OAUTH_BASE_URL: written })).toEqual([
      'OAUTH_BASE_URL must have a path without ; that does not begin with //, since cookies and redirects hold it',
    ]);
  });

  test.each([
    ['https://relay.example/auth/mal/callback', 'https://relay.example', '/auth/mal/callback'],
    [
      'https://relay.example/tv/auth/mal/callback/',
      'https://relay.example/tv',
      '/auth/mal/callback',
    ],
    ['https://relay.example/auth/start', 'https://relay.example', '/auth/start'],
    ['https://relay.example/oauth2/mal', 'https://relay.example', '/oauth2/mal'],
    ['https://relay.example/oauth2/mal/token', 'https://relay.example', '/oauth2/mal/token'],
  ])('OAUTH_BASE_URL %j is an endpoint, and refused with %j', (written, right, endpoint) => {
    expect(faultsOf({ OAUTH_BASE_URL: written })).toEqual([
      `OAUTH_BASE_URL must be ${right}: the relay adds ${endpoint} itself`,
    ]);
  });

  test('an endpoint in which a password was left does not show it', () => {
    const reading = read({ OAUTH_BASE_URL: 'https://hunt/er2@relay.example/auth/mal/callback' });
    expect(reading).toMatchObject({ ok: false });
    expect(JSON.stringify(reading)).not.toMatch(/hunt|er2/);
  });

  test.each(['/auth', '/auth/v1', '/link'])('OAUTH_BASE_URL may have the path %s', (path) => {
    const baseUrl = `https://relay.example${path}`;
    expect(settingsOf({ OAUTH_BASE_URL: baseUrl }).baseUrl).toBe(baseUrl);
  });

  test.each([
    ['PORT', 'port', ['0', '65535'], ['-1', '65536', '0x50', '8080.5', '1e3', 'http']],
    ['SESSION_SECONDS', 'sessionSeconds', ['1', '86400'], ['0', '86401', '10m']],
    ['POLL_SECONDS', 'pollSeconds', ['1', '230'], ['0', '231']],
    ['DEVICE_GRANT_REPEAT_SECONDS', 'deviceGrantRepeatSeconds', ['0', '600'], ['-1', '601']],
    ['MAX_SESSIONS', 'maxSessions', ['1', '10000000'], ['0', '10000001', '5_000']],
    ['START_BURST', 'startBurst', ['1', '1000000'], ['0', '1000001', '0.5']],
    ['START_RATE', 'startRatePerSecond', ['0.001', '5', '1000000'], ['0', '-1', '.5', '1/s']],
  ] as const)('%s takes its range and nothing else', (name, field, right, wrong) => {
    for (const value of right) expect(settingsOf({ [name]: value })[field]).toBe(Number(value));
    for (const value of wrong) {
      expect(faultsOf({ [name]: value })).toEqual([expect.stringContaining(`${name} must be a`)]);
    }
  });

  test.each(['127.0.0.1', '::', 'localhost', 'relay-1.internal'])('HOST %j is taken', (host) => {
    expect(settingsOf({ HOST: host }).host).toBe(host);
  });

  test.each(['0.0.0.0:80', 'http://localhost', '[::]', 'a b', 'fe80::1%eth0'])(
    'HOST %j is refused',
    (host) => {
      expect(faultsOf({ HOST: host })).toEqual([expect.stringContaining('the port is PORT')]);
    },
  );

  test('LOG_LEVEL and LOG_FORMAT: any case, warn means warning', () => {
    expect(settingsOf({ LOG_LEVEL: 'Warn', LOG_FORMAT: 'TEXT' })).toMatchObject({
      logLevel: 'warning',
      logFormat: 'text',
    });
    expect(faultsOf({ LOG_LEVEL: 'loud', LOG_FORMAT: 'xml' })).toEqual([
      'LOG_LEVEL must be debug, info, warning or error',
      'LOG_FORMAT must be json or text',
    ]);
  });
});

describe('what people and browsers meet', () => {
  test.each([
    ['always', 'always'],
    ['Code', 'code'],
    [' never ', 'never'],
  ] as const)('CONFIRM %j is %s', (written, confirm) => {
    expect(settingsOf({ CONFIRM: written }).confirm).toBe(confirm);
  });

  test.each([
    ['on', true],
    ['OFF', false],
  ])('PROVIDER_KEEP_ALIVE %j is %s', (written, providerKeepAlive) => {
    expect(settingsOf({ PROVIDER_KEEP_ALIVE: written })).toMatchObject({ providerKeepAlive });
  });

  test('PROVIDER_KEEP_ALIVE takes nothing else', () => {
    expect(faultsOf({ PROVIDER_KEEP_ALIVE: 'yes' })).toEqual([
      'PROVIDER_KEEP_ALIVE must be on or off',
    ]);
  });

  test('CONFIRM takes nothing else', () => {
    for (const written of ['yes', 'true', 'codes']) {
      expect(faultsOf({ CONFIRM: written })).toEqual(['CONFIRM must be always, code or never']);
    }
  });

  test.each([
    'A',
    'Acme TV',
    'Acme\u00a0TV',
    'アニメ',
    '📺'.repeat(40),
    '👨‍👩‍👧‍👦 TV',
    '❤️‍🔥',
    'تلویزیون می‌بینم',
    'טלוויזיה',
    'শ্রী র‍্যাব',
  ])('APP_NAME %j is taken', (name) => {
    expect(settingsOf({ APP_NAME: ` ${name} ` }).appName).toBe(name);
  });

  test.each(['x'.repeat(41), '\u0301', '\u0301Acme', `Acme${'\u0301'.repeat(5)}`])(
    'APP_NAME %j is refused',
    (name) => {
      expect(faultsOf({ APP_NAME: name })).toEqual([
        'APP_NAME must be 1 to 40 characters that can be seen',
      ]);
    },
  );

  test.each(UNSEEN)('APP_NAME and display names with %j are refused', (unseen) => {
    const name = `Acme${unseen}TV`;
    const env = { APP_NAME: name, MAL_CLIENT_ID: 'm', MAL_DISPLAY_NAME: name };
    const problem = 'must hold no character that cannot be seen or that turns the text around it';
    expect(faultsOf(env)).toEqual([`APP_NAME ${problem}`, `MAL_DISPLAY_NAME ${problem}`]);
  });
});

describe('CORS_ORIGINS', () => {
  test('takes what browsers and web views send as Origin, with commas or spaces', () => {
    const written = 'https://tv.example, http://localhost:3000 null,file://\ncapacitor://localhost';
    expect(settingsOf({ CORS_ORIGINS: written }).corsOrigins).toEqual([
      'https://tv.example',
      'http://localhost:3000',
      'null',
      'file://',
      'capacitor://localhost',
    ]);
    expect(settingsOf({ CORS_ORIGINS: ' * ' }).corsOrigins).toEqual(['*']);
    expect(faultsOf({ CORS_ORIGINS: 'http://[::1]:8080' })).toEqual([]);
  });

  test.each([
    ['https://tv.example/', 'https://tv.example'],
    ['https://tv.example/app?x#y', 'https://tv.example'],
    ['https://TV.example', 'https://tv.example'],
    ['https://tv.example:443', 'https://tv.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['capacitor://localhost/', 'capacitor://localhost'],
    ['file:///', 'file://'],
  ])('%j, which no browser sends, is refused with what would be right: %j', (written, right) => {
    expect(faultsOf({ CORS_ORIGINS: `https://a.example,${written}` })).toEqual([
      `CORS_ORIGINS must hold ${right} in place of ${written}`,
    ]);
    expect(faultsOf({ CORS_ORIGINS: right })).toEqual([]);
  });

  test.each([
    'https://user@tv.example',
    'https://me:hunt@er2/x@tv.example',
    'https://me:hunt er2@tv.example',
    'me:hunter2@tv',
  ])('%j is refused, and not shown before its last @', (origins) => {
    const reading = read({ CORS_ORIGINS: origins });
    expect(reading).toMatchObject({ ok: false, faults: [{ setting: 'CORS_ORIGINS' }] });
    expect(JSON.stringify(reading)).not.toMatch(/hunt|er2|user@/);
  });

  test.each(['tv.example', 'localhost:3000', 'https:tv.example', 'https://', 'https://tv\\x', 'x'])(
    '%j is refused, as it is no origin',
    (written) => {
      expect(faultsOf({ CORS_ORIGINS: written })).toEqual([
        expect.stringContaining(`null, file:// or *; ${written} is none`),
      ]);
    },
  );

  test('* stands alone: beside others, or within one, it would promise what it does not do', () => {
    expect(faultsOf({ CORS_ORIGINS: '*,https://tv.example' })).toEqual([
      'CORS_ORIGINS must hold * alone or not at all',
    ]);
    expect(faultsOf({ CORS_ORIGINS: 'https://*.example' })).toEqual([
      'CORS_ORIGINS must hold * alone, not within an origin as in https://*.example',
    ]);
  });
});

describe('TRUSTED_PROXY_CIDRS', () => {
  test('takes CIDRs and single addresses of both kinds, with commas or spaces', () => {
    const written = '10.0.0.0/8, 192.0.2.7 fd00::/8,::1,0.0.0.0/0\n::ffff:10.0.0.0/104';
    expect(settingsOf({ TRUSTED_PROXY_CIDRS: written }).trustedProxyCidrs).toEqual([
      '10.0.0.0/8',
      '192.0.2.7',
      'fd00::/8',
      '::1',
      '0.0.0.0/0',
      '::ffff:10.0.0.0/104',
    ]);
  });

  test.each([
    '0x7f.1',
    '127.1',
    '010.0.0.1',
    '0x7f.1/8',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '::1/129',
    'fe80::1%eth0',
    'localhost',
    '10.0.0.1:80',
  ])('%j is refused, since programs disagree on what it means or it means nothing', (item) => {
    const faults = faultsOf({ TRUSTED_PROXY_CIDRS: `10.0.0.0/8,${item}` });
    expect(faults).toEqual([expect.stringContaining(`${item} is neither`)]);
  });
});

describe('every fault at once', () => {
  test('faults of several settings, of the list and of providers come together', () => {
    const faults = faultsOf({
      OAUTH_BASE_URL: 'x',
      PORT: 'x',
      PROVIDERS: 'mal,done,acme',
      MAL_PKCE: 'x',
      ACME_TOKEN_URL: 'x',
    });
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
      'OAUTH_BASE_URL',
      'PORT',
      'PROVIDERS',
      'MAL_PKCE',
      'ACME_TOKEN_URL',
    ]);
  });

  test('what the settings hold cannot be changed afterwards', () => {
    const settings = settingsOf({ MAL_CLIENT_ID: 'id', MAL_AUTHORIZE_PARAMS: 'a=b' });
    const provider = settings.providers[0];
    for (const part of [settings, settings.providers, provider, provider?.authorizeParams]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe('an environment that would give secrets away is refused', () => {
  test('NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
    expect(faultsOf({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual([
      expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED must not be 0/),
    ]);
    expect(read({ NODE_TLS_REJECT_UNAUTHORIZED: '1' }).ok).toBe(true);
  });

  test('BUN_CONFIG_VERBOSE_FETCH, whatever it holds', () => {
    for (const value of ['curl', 'true', '1']) {
      expect(faultsOf({ BUN_CONFIG_VERBOSE_FETCH: value })).toEqual([
        expect.stringMatching(/^BUN_CONFIG_VERBOSE_FETCH must not be set/),
      ]);
    }
  });
});
