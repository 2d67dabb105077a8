/** Open sign-ins: a client with its own client id borrows the relay's redirect URI (docs/open.md). */

import * as expect from '../answers.ts';
import { makeChallenge, postJson } from '../device.ts';
import { equal } from '../expect.ts';
import { FORM, formCall } from '../http.ts';
import { registrationAt, SERVICE_A } from '../options.ts';
import { cookiesOf, type Parameters, SAME_ORIGIN, type Session } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';

interface OpenSession extends Session {
  readonly challenge: string;
}

function authorizationUrl({ options }: Kit, challenge: string, more: Parameters = {}): string {
  const query = {
    response_type: 'code',
    client_id: 'own-client',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  };
  return `${registrationAt(options, SERVICE_A).authorizeUrl}?${new URLSearchParams(query)}`;
}

async function startOpen(kit: Kit, more: Parameters = {}): Promise<OpenSession> {
  const challenge = makeChallenge();
  const answer = await postJson(kit, '/open', {
    authorizationUrl: authorizationUrl(kit, challenge, more),
  });
  expect.status(answer, 200);
  const { session, url, redirectUri } = expect.json(answer);
  equal('redirectUri', redirectUri, `${kit.options.baseUrl}/open/callback`);
  const state = new URL(String(url)).searchParams.get('state') ?? '';
  equal('url', url, `${kit.options.baseUrl}/open?state=${state}`);
  const pollSecret = String(session);
  const from = kit.relay.nextAddress();
  const started = { service: 'open', pollSecret, state, url: String(url), from, challenge };
  // The relay counts it with the others.
  kit.relay.keep(started);
  return started;
}

/** Returns the cookie of the browser in which it was pressed. */
async function pressContinue({ relay }: Kit, { state }: OpenSession) {
  const call = formCall(`/open?${new URLSearchParams({ state })}`, { choice: 'continue' });
  const answer = await relay.send({ ...call, headers: { ...FORM, ...SAME_ORIGIN } });
  expect.status(answer, 303);
  return { location: new URL(String(answer.headers.location)), cookie: cookiesOf(answer) };
}

const comeBack = ({ relay }: Kit, parameters: Parameters, cookie = '') =>
  relay.send({
    path: `/open/callback?${new URLSearchParams(parameters)}`,
    headers: { Cookie: cookie },
  });

export const open = cases((test) => {
  test('docs/open.md "For clients": the link asks, Continue redirects, and the query of the callback is the result', async (kit) => {
    const session = await startOpen(kit, { state: 'own', scope: 'a b' });
    const page = await kit.relay.send({ path: `/open?state=${session.state}` });
    expect.status(page, 200);
    equal('the state in the page', page.body.includes(session.state), false);
    const { location, cookie } = await pressContinue(kit, session);
    const { searchParams } = location;
    equal('scope', searchParams.get('scope'), 'a b');
    equal('code_challenge', searchParams.get('code_challenge'), session.challenge);
    equal('redirect_uri', searchParams.get('redirect_uri'), `${kit.options.baseUrl}/open/callback`);
    equal('state', searchParams.get('state'), session.state);
    const parameters = { state: session.state, code: 'a/b c', iss: 'https://issuer.test' };
    expect.successPage(await comeBack(kit, parameters, cookie));
    equal('the result', expect.json(await kit.relay.poll(session, { wait: '0' })), {
      callback: { code: 'a/b c', iss: 'https://issuer.test', state: 'own' },
      redirectUri: `${kit.options.baseUrl}/open/callback`,
    });
    expect.sessionNotFound(await kit.relay.poll(session, { wait: '0' }));
  });

  test('docs/open.md "For clients": a callback from another browser than the one that continued changes nothing', async (kit) => {
    const session = await startOpen(kit);
    const { cookie } = await pressContinue(kit, session);
    const parameters = { state: session.state, code: 'code' };
    expect.otherBrowser(await comeBack(kit, parameters));
    expect.status(await kit.relay.poll(session, { wait: '0' }), 204);
    await comeBack(kit, { state: session.state, error: 'access_denied' }, cookie);
    equal('the result', expect.json(await kit.relay.poll(session, { wait: '0' })), {
      error: 'access_denied',
    });
  });

  test('docs/open.md "For clients": only an authorization endpoint of the list, response_type=code and S256', async (kit) => {
    const good = authorizationUrl(kit, makeChallenge());
    const endpoint = good.slice(0, good.indexOf('?'));
    for (const wrong of [
      good.replace(endpoint, 'https://evil.test/authorize'),
      good.replace(endpoint, `${endpoint}/`),
      good.replace('://', '://user@'),
      `${good}#fragment`,
      `${good}&client_id=other`,
      `${good}&request_uri=urn%3Ax`,
      `${good}&response_mode=form_post`,
      good.replace('response_type=code', 'response_type=token'),
      good.replace('=S256', '=plain'),
      `${good}&x=${'a'.repeat(2_000)}`,
      7,
    ]) {
      expect.status(await postJson(kit, '/open', { authorizationUrl: wrong }), 400);
    }
  });

  test('docs/open.md "For clients": its state opens no sign-in of a service, and the other way round', async (kit) => {
    const session = await startOpen(kit);
    expect.invalidLink(await kit.relay.send({ path: `/auth/${SERVICE_A}?state=${session.state}` }));
    const own = await kit.relay.start();
    expect.invalidLink(await kit.relay.send({ path: `/open?state=${own.state}` }));
    expect.invalidLink(await comeBack(kit, { state: own.state, code: 'code' }));
    expect.status(await kit.relay.poll(session, { cancel: '1' }), 204);
  });
});
