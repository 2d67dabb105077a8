/** `GET /auth/<service>`, the link: where it redirects to, and which links are refused. */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { equal, matches, present } from '../expect.ts';
import { registrationAt, SERVICE_A, SERVICE_B } from '../options.ts';
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

export const authorize = cases((test) => {
  test('What the browser does; Limits: 302 with exactly these parameters, PKCE plain for provider A, each time', async (kit) => {
    for (const service of [SERVICE_A, SERVICE_B]) {
      const session = await kit.relay.start({ service });
      const parameters = await redirectParameters(kit, session);
      const challenge = new Map(parameters).get('code_challenge');
      const pkce = [
        ['code_challenge', challenge],
        ['code_challenge_method', 'plain'],
      ];
      if (service === SERVICE_A) matches('code_challenge', challenge, /^[A-Za-z0-9\-._~]{64}$/);
      const expected = [
        ['client_id', registrationAt(kit.options, service).clientId],
        ['redirect_uri', `${kit.options.baseUrl}/auth/${service}/callback`],
        ['response_type', 'code'],
        ['state', session.state],
        ...(service === SERVICE_A ? pkce : []),
      ];
      equal('parameters', parameters, expected.sort());
      // Opening the link changes nothing.
      equal('parameters', await redirectParameters(kit, session), parameters);
    }
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
});
