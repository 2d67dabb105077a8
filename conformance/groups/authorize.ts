/** `GET /auth/<service>`, the link: where it redirects to, and which links are refused. */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { equal, matches, present } from '../expect.ts';
import { registrationAt, SERVICE_B } from '../options.ts';
import type { Session } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';

/** The parameters of the redirect, sorted, so that a repeated or unexpected one shows. */
async function redirectParameters({ relay, options }: Kit, session: Session) {
  const answer = await relay.open(session);
  expect.status(answer, 302);
  const location = present('Location', answer.headers.location);
  const [address, query] = location.split('?', 2);
  const { authorizeUrl } = registrationAt(options, session.service);
  equal('Location without its query', address, authorizeUrl);
  return [...new URLSearchParams(query)].sort();
}

function commonParameters({ options }: Kit, { service, state }: Session): [string, string][] {
  return [
    ['client_id', registrationAt(options, service).clientId],
    ['redirect_uri', `${options.baseUrl}/auth/${service}/callback`],
    ['response_type', 'code'],
    ['state', state],
  ];
}

export const authorize = cases((test) => {
  test('What the browser does; Limits: provider A: 302 with exactly six parameters, PKCE plain of 64 characters', async (kit) => {
    const session = await kit.relay.start();
    const parameters = await redirectParameters(kit, session);
    const challenge = present('code_challenge', new Map(parameters).get('code_challenge'));
    matches('code_challenge', challenge, /^[A-Za-z0-9\-._~]{64}$/);
    const pkce = [
      ['code_challenge', challenge],
      ['code_challenge_method', 'plain'],
    ];
    equal('parameters', parameters, [...commonParameters(kit, session), ...pkce].sort());
  });

  test('What the browser does: provider B: 302 to the provider with exactly four parameters, no PKCE, no scope', async (kit) => {
    const session = await kit.relay.start({ service: SERVICE_B });
    const parameters = await redirectParameters(kit, session);
    equal('parameters', parameters, commonParameters(kit, session).sort());
  });

  test('Limits: each session has its own PKCE verifier, without its poll secret and its state', async (kit) => {
    const started = await Promise.all(times(20, () => kit.relay.start()));
    const challenges = await Promise.all(
      started.map(async (session) => {
        const parameters = new Map(await redirectParameters(kit, session));
        return present('code_challenge', parameters.get('code_challenge'));
      }),
    );
    const secrets = started.map(({ pollSecret }) => pollSecret);
    const states = started.map(({ state }) => state);
    equal('different values', new Set([...challenges, ...secrets, ...states]).size, 60);
    const telling = challenges.filter((challenge) =>
      secrets.some((each) => challenge.includes(each)),
    );
    equal('challenges that contain a poll secret', telling, []);
  });

  test('What the browser does: opening the link changes nothing: the second time it redirects to the same place', async (kit) => {
    const session = await kit.relay.start();
    const first = await redirectParameters(kit, session);
    equal('parameters', await redirectParameters(kit, session), first);
  });
});
