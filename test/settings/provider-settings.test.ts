import { describe, expect, test } from 'bun:test';
import { faultsOf, settingsOf } from './read.ts';

const acme = {
  PROVIDERS: 'acme',
  ACME_CLIENT_ID: 'id',
  ACME_AUTHORIZE_URL: 'https://acme.example/authorize',
  ACME_TOKEN_URL: 'https://acme.example/token',
};

describe('which providers are enabled', () => {
  test('mal and anilist as the specification describes them, once their client ids are set', () => {
    const env = { MAL_CLIENT_ID: 'm', ANILIST_CLIENT_ID: 'a', ANILIST_CLIENT_SECRET: 's' };
    expect(settingsOf(env).providers).toEqual([
      {
        name: 'mal',
        displayName: 'MyAnimeList',
        authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
        tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
        clientId: 'm',
        clientAuth: 'post',
        pkce: 'plain',
        authorizeParams: {},
      },
      {
        name: 'anilist',
        displayName: 'AniList',
        authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
        tokenUrl: 'https://anilist.co/api/v2/oauth/token',
        clientId: 'a',
        clientSecret: 's',
        clientAuth: 'post',
        pkce: 'none',
        authorizeParams: {},
      },
    ]);
  });

  test('only those listed: a client id alone enables nothing', () => {
    const env = { PROVIDERS: 'anilist', MAL_CLIENT_ID: 'm', ANILIST_CLIENT_ID: 'a' };
    expect(settingsOf(env).providers.map(({ name }) => name)).toEqual(['anilist']);
  });

  test('one of the catalogue needs no address, and keeps the catalogue’s client authentication', () => {
    const env = { PROVIDERS: 'spotify reddit', SPOTIFY_CLIENT_ID: 's', REDDIT_CLIENT_ID: 'r' };
    expect(settingsOf(env).providers).toMatchObject([
      {
        authorizeUrl: 'https://accounts.spotify.com/authorize',
        tokenUrl: 'https://accounts.spotify.com/api/token',
        clientAuth: 'post',
        pkce: 'none',
      },
      { name: 'reddit', clientAuth: 'basic' },
    ]);
  });

  test('one given wholly by environment', () => {
    const env = {
      ...acme,
      ACME_CLIENT_SECRET: ' s ',
      ACME_SCOPE: ' read   write ',
      ACME_PKCE: 's256',
      ACME_CLIENT_AUTH: 'BASIC',
      ACME_AUTHORIZE_PARAMS: 'access_type=offline&prompt=a%20b',
    };
    expect(settingsOf(env).providers).toEqual([
      {
        name: 'acme',
        displayName: 'Acme',
        authorizeUrl: 'https://acme.example/authorize',
        tokenUrl: 'https://acme.example/token',
        clientId: 'id',
        clientSecret: ' s ',
        scope: 'read write',
        pkce: 'S256',
        clientAuth: 'basic',
        authorizeParams: { access_type: 'offline', prompt: 'a b' },
      },
    ]);
  });

  test('a name with - has _ in its settings', () => {
    const env = {
      PROVIDERS: 'my-acme',
      MY_ACME_CLIENT_ID: 'id',
      MY_ACME_ISSUER: 'https://a.example',
    };
    expect(settingsOf(env).discoveries).toMatchObject([{ name: 'my-acme', clientId: 'id' }]);
  });

  test('settings override the catalogue and the built-in', () => {
    const env = { MAL_CLIENT_ID: 'm', MAL_TOKEN_URL: 'http://127.0.0.1:9/token', MAL_PKCE: 'S256' };
    expect(settingsOf(env).providers).toMatchObject([
      {
        authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
        tokenUrl: 'http://127.0.0.1:9/token',
        pkce: 'S256',
      },
    ]);
  });

  test('scopes go as written: some providers want spaces, some commas', () => {
    const env = { PROVIDERS: 'strava', STRAVA_CLIENT_ID: 's', STRAVA_SCOPE: 'read,activity:read' };
    expect(settingsOf(env).providers).toMatchObject([{ scope: 'read,activity:read' }]);
  });
});

describe('a provider by issuer', () => {
  test('is left to discovery with only what was set, so that the issuer decides the rest', () => {
    const env = {
      PROVIDERS: 'acme',
      ACME_CLIENT_ID: 'id',
      ACME_ISSUER: 'https://login.acme.example/',
    };
    expect(settingsOf(env)).toMatchObject({ providers: [] });
    expect(settingsOf(env).discoveries).toEqual([
      {
        name: 'acme',
        displayName: 'Acme',
        clientId: 'id',
        issuer: 'https://login.acme.example/',
        authorizeParams: {},
      },
    ]);
  });

  test('may belong to the catalogue: its addresses then come from the issuer', () => {
    const env = { PROVIDERS: 'okta', OKTA_CLIENT_ID: 'id', OKTA_ISSUER: 'https://x.okta.example' };
    expect(settingsOf(env).discoveries).toEqual([
      {
        name: 'okta',
        displayName: 'Okta',
        clientId: 'id',
        issuer: 'https://x.okta.example',
        authorizeParams: {},
      },
    ]);
  });

  test('an issuer with a query is refused (RFC 8414 §2)', () => {
    const env = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'id', ACME_ISSUER: 'https://a.example?x' };
    expect(faultsOf(env)).toEqual([expect.stringContaining('ACME_ISSUER must hold no query')]);
  });
});

const NAME_RULE = 'a name is made of small letters, digits and -.';

describe('PROVIDERS', () => {
  test.each([
    ['start', 'lists start, which is a path of the relay itself'],
    ['result', 'lists result, which is a path of the relay itself'],
    ['done', 'lists done, which is a path of the relay itself'],
    ['mal,mal', 'lists mal twice'],
    ['MyAnimeList', `lists "MyAnimeList"; ${NAME_RULE} Did you mean mal?`],
    ['-mal', `lists "-mal"; ${NAME_RULE} Did you mean mal?`],
    ['m/l', `lists "m/l"; ${NAME_RULE} Did you mean mal?`],
    ['x!', `lists "x!"; ${NAME_RULE}`],
  ])('%j is a fault', (written, problem) => {
    expect(faultsOf({ PROVIDERS: written })).toEqual([`PROVIDERS ${problem}`]);
  });

  test.each([
    ['spotfy', 'Did you mean spotify?'],
    ['annilist', 'Did you mean anilist?'],
    ['twitter', 'Did you mean twitter2'],
    ['myanimelist', 'Did you mean mal?'],
    ['my-anime-list', 'Did you mean mal?'],
    ['animelist', 'Did you mean mal or anilist'],
    ['spotify-music', 'Did you mean spotify?'],
    ['google-oauth', 'Did you mean google?'],
  ])('an unknown name, %j, is a fault that names the nearest known', (name, hint) => {
    const prefix = name.toUpperCase().replaceAll('-', '_');
    const [fault, ...others] = faultsOf({ PROVIDERS: name, [`${prefix}_CLIENT_ID`]: 'id' });
    expect(fault).toContain(`PROVIDERS lists ${name}, which is not in the catalogue. ${hint}`);
    expect(fault).toContain(`${prefix}_AUTHORIZE_URL`);
    expect(others).toEqual([]);
  });

  test('an unknown name near nothing says only what to set', () => {
    expect(faultsOf({ PROVIDERS: 'xyzzyplugh' })).toEqual([
      'PROVIDERS lists xyzzyplugh, which is not in the catalogue. Else set XYZZYPLUGH_AUTHORIZE_URL and XYZZYPLUGH_TOKEN_URL, or XYZZYPLUGH_ISSUER',
    ]);
  });

  test('a name that every object has is as unknown as any other', () => {
    expect(faultsOf({ PROVIDERS: 'constructor', CONSTRUCTOR_CLIENT_ID: 'id' })).toHaveLength(1);
  });

  test('one address without the other is a fault', () => {
    const { ACME_AUTHORIZE_URL: _, ...env } = acme;
    expect(faultsOf(env)).toEqual(['ACME_AUTHORIZE_URL must be set: acme is not in the catalogue']);
  });
});

describe('addresses of providers', () => {
  const settings = ['ACME_AUTHORIZE_URL', 'ACME_TOKEN_URL', 'ACME_ISSUER'];

  test.each([
    'https://acme.example',
    'https://acme.example/a?tenant=1',
    'http://localhost:3000/x',
    'http://127.8.9.1/x',
    'http://[::1]:1/x',
  ])('%j is taken', (address) => {
    expect(faultsOf({ ...acme, ACME_AUTHORIZE_URL: address, ACME_TOKEN_URL: address })).toEqual([]);
  });

  test.each([
    ['http://acme.example/x', 'must be https'],
    ['http://localhost.acme.example/x', 'must be https'],
    ['http://127.0.0.1.acme.example/x', 'must be https'],
    ['http://10.0.0.1/x', 'must be https'],
    ['https://user:pass@acme.example/x', 'must hold no user name or password'],
    ['https://@acme.example/x', 'must hold no user name or password'],
    ['https://acme.example/x#y', 'must hold no fragment'],
    ['https://acme.example/x#', 'must hold no fragment'],
    ['acme.example/x', 'must be an address such as https://'],
    ['https:acme.example', 'must be an address such as https://'],
    ['https://acme.example/a b', 'must be an address such as https://'],
    ['javascript:alert(1)', 'must be an address such as https://'],
  ])('%j is refused: it %s', (address, problem) => {
    for (const setting of settings) {
      expect(faultsOf({ ...acme, [setting]: address })).toEqual([
        expect.stringContaining(`${setting} ${problem}`),
      ]);
    }
  });

  test.each(['ACME_AUTHORIZE_URL', 'ACME_TOKEN_URL'])(
    '%s with a parameter of the relay in it is refused',
    (setting) => {
      const env = { ...acme, [setting]: 'https://acme.example/a?client_id=x' };
      expect(faultsOf(env)).toEqual([`${setting} must not hold client_id: the relay sets it`]);
    },
  );
});

describe('_SUBDOMAIN', () => {
  const okta = { PROVIDERS: 'okta', OKTA_CLIENT_ID: 'id' };
  const keycloak = { PROVIDERS: 'keycloak', KEYCLOAK_CLIENT_ID: 'id' };

  test('completes both addresses', () => {
    expect(settingsOf({ ...okta, OKTA_SUBDOMAIN: 'dev-1' }).providers).toMatchObject([
      {
        authorizeUrl: 'https://dev-1.okta.com/oauth2/v1/authorize',
        tokenUrl: 'https://dev-1.okta.com/oauth2/v1/token',
      },
    ]);
  });

  test('is a host with port and path where the catalogue leaves the whole host open', () => {
    const env = { ...keycloak, KEYCLOAK_SUBDOMAIN: 'id.acme.example:8443/realms/tv' };
    expect(settingsOf(env).providers).toMatchObject([
      { tokenUrl: 'https://id.acme.example:8443/realms/tv/protocol/openid-connect/token' },
    ]);
  });

  test('missing, it is a fault that says what it completes', () => {
    expect(faultsOf(okta)).toEqual([
      'OKTA_SUBDOMAIN must be set: it completes https://[subdomain].okta.com/oauth2/v1/authorize',
    ]);
  });

  test('is not needed when both addresses are set, nor while the provider is disabled', () => {
    const address = 'https://login.acme.example/x';
    expect(faultsOf({ ...okta, OKTA_AUTHORIZE_URL: address, OKTA_TOKEN_URL: address })).toEqual([]);
    expect(faultsOf({ PROVIDERS: 'okta' })).toEqual([]);
  });

  test.each([
    'dev-1.okta.com',
    'evil.example/',
    'evil.example/x',
    'dev:80',
    'https://dev',
    'a b',
    'x@y',
  ])('%j is refused before .okta.com', (subdomain) => {
    expect(faultsOf({ ...okta, OKTA_SUBDOMAIN: subdomain })).toEqual([
      expect.stringContaining('OKTA_SUBDOMAIN must be'),
    ]);
  });

  test('that makes no address is refused', () => {
    expect(faultsOf({ ...keycloak, KEYCLOAK_SUBDOMAIN: 'acme.example:99999' })).toEqual([
      expect.stringContaining('KEYCLOAK_SUBDOMAIN must complete'),
    ]);
  });
});

describe('_DISPLAY_NAME', () => {
  test('is what people are shown, whichever way the provider is known', () => {
    const env = {
      PROVIDERS: 'mal,spotify,acme',
      MAL_CLIENT_ID: 'm',
      MAL_DISPLAY_NAME: ' MAL ',
      SPOTIFY_CLIENT_ID: 's',
      SPOTIFY_DISPLAY_NAME: 'スポティファイ',
      ACME_CLIENT_ID: 'a',
      ACME_ISSUER: 'https://acme.example',
      ACME_DISPLAY_NAME: 'Acme Music',
    };
    const { providers, discoveries } = settingsOf(env);
    expect(providers.map(({ displayName }) => displayName)).toEqual(['MAL', 'スポティファイ']);
    expect(discoveries).toMatchObject([{ displayName: 'Acme Music' }]);
  });

  test('not set, it is the name with a capital, where the relay knows no better', () => {
    const env = { PROVIDERS: 'mal,spotify', MAL_CLIENT_ID: 'm', SPOTIFY_CLIENT_ID: 's' };
    expect(settingsOf(env).providers).toMatchObject([
      { displayName: 'MyAnimeList' },
      { displayName: 'Spotify' },
    ]);
  });

  test('of more than 40 characters is refused', () => {
    expect(faultsOf({ ...acme, ACME_DISPLAY_NAME: 'x'.repeat(41) })).toEqual([
      'ACME_DISPLAY_NAME must be 1 to 40 characters that can be seen',
    ]);
  });
});

describe('other settings of a provider', () => {
  test.each([
    ['response_type', 'the relay sets it'],
    ['client_id', 'the relay sets it'],
    ['redirect_uri', 'the relay sets it'],
    ['state', 'the relay sets it'],
    ['code_challenge', 'the relay sets it'],
    ['code_challenge_method', 'the relay sets it'],
    ['scope', 'that is the setting ending in _SCOPE'],
  ])('_AUTHORIZE_PARAMS must not hold %s', (name, reason) => {
    expect(faultsOf({ ...acme, ACME_AUTHORIZE_PARAMS: `a=b&${name}=x` })).toEqual([
      `ACME_AUTHORIZE_PARAMS must not hold ${name}: ${reason}`,
    ]);
  });

  test.each(['prompt', 'a=b&&c', '=b', 'a=b&a=c', '{"a":"b"}'])(
    '_AUTHORIZE_PARAMS %j is refused',
    (written) => {
      expect(faultsOf({ ...acme, ACME_AUTHORIZE_PARAMS: written })).toEqual([
        expect.stringContaining('ACME_AUTHORIZE_PARAMS must'),
      ]);
    },
  );

  test.each(['none', 'plain', 'S256', 's256'])('_PKCE %j is taken', (method) => {
    expect(faultsOf({ ...acme, ACME_PKCE: method })).toEqual([]);
  });

  test('_PKCE and _CLIENT_AUTH take nothing else', () => {
    expect(faultsOf({ ...acme, ACME_PKCE: 'constructor', ACME_CLIENT_AUTH: 'jwt' })).toEqual([
      'ACME_PKCE must be none, plain or S256',
      'ACME_CLIENT_AUTH must be post or basic',
    ]);
  });

  test('neither PKCE nor a secret is allowed: AniList has no PKCE, and its secret is optional', () => {
    expect(settingsOf({ ANILIST_CLIENT_ID: 'a' }).providers).toMatchObject([{ pkce: 'none' }]);
  });

  test('settings of a disabled provider are checked too', () => {
    expect(faultsOf({ MAL_PKCE: 'x' })).toEqual(['MAL_PKCE must be none, plain or S256']);
  });
});
