/** `GET /auth/<service>`, the browser link, where it leads: `protocol.md` §4. */

import { identityOf } from '../command/environment.ts';
import type { Bench, Case, Group } from '../engine/case.ts';
import { equal, matches, present } from '../engine/expect.ts';
import { times } from '../engine/wait.ts';
import { expectStatus } from '../wire/answers.ts';
import type { Session } from '../wire/ledger.ts';

/** The parameters of the redirect, sorted; a repeated or unexpected one shows. */
async function redirectParameters({ target, options }: Bench, session: Session) {
  const answer = await target.open(session);
  expectStatus(answer, 302);
  const location = present('Location', answer.headers.location);
  const { authorizeUrl } = identityOf(options, session.service);
  const [address, query] = location.split('?', 2);
  equal('Location without its query', address, authorizeUrl);
  return [...new URLSearchParams(query)].sort();
}

/** What §4 asks for, whatever the provider. */
function commonParameters({ options }: Bench, session: Session): [string, string][] {
  return [
    ['client_id', identityOf(options, session.service).clientId],
    ['redirect_uri', `${options.publicUrl}/auth/${session.service}/callback`],
    ['response_type', 'code'],
    ['state', session.state],
  ];
}

async function challengeOf(bench: Bench, session: Session): Promise<string> {
  const parameters = await redirectParameters(bench, session);
  return present('code_challenge', new Map(parameters).get('code_challenge'));
}

const redirectA: Case = {
  section: '4',
  rule: 'provider A: 302 to the authorize address with exactly six parameters, PKCE plain, no scope',
  covers: ['4.authorize-redirect', '1.providers', '5.client-authentication'],
  async run(bench) {
    const session = await bench.target.start(bench.options.serviceA);
    const parameters = await redirectParameters(bench, session);
    const challenge = new Map(parameters).get('code_challenge');
    const expected = [
      ...commonParameters(bench, session),
      ['code_challenge', present('code_challenge', challenge)],
      ['code_challenge_method', 'plain'],
    ];
    equal('parameters', parameters, expected.sort());
  },
};

const redirectB: Case = {
  section: '4',
  rule: 'provider B: 302 to the authorize address with exactly four parameters, no PKCE, no scope',
  covers: ['4.authorize-redirect', '1.providers'],
  async run(bench) {
    const session = await bench.target.start(bench.options.serviceB);
    const parameters = await redirectParameters(bench, session);
    equal('parameters', parameters, commonParameters(bench, session).sort());
  },
};

const verifier: Case = {
  section: '2, 8',
  rule: 'the verifier is 64 characters of A-Z a-z 0-9 - . _ ~',
  covers: ['2.verifier', '8.verifier-length', '4.authorize-redirect'],
  async run(bench) {
    const session = await bench.target.start(bench.options.serviceA);
    matches('code_challenge', await challengeOf(bench, session), /^[A-Za-z0-9\-._~]{64}$/);
  },
};

const freshVerifier: Case = {
  section: '2',
  rule: 'every session has a verifier of its own, that is neither its secret nor its state',
  covers: ['2.verifier'],
  async run(bench) {
    const started = await Promise.all(times(20, () => bench.target.start(bench.options.serviceA)));
    const challenges = await Promise.all(started.map((session) => challengeOf(bench, session)));
    const all = [...challenges, ...started.flatMap(({ secret, state }) => [secret, state])];
    equal('different values', new Set(all).size, 60);
    equal('challenges that hold a secret', challengesWith(challenges, started), []);
  },
};

function challengesWith(challenges: readonly string[], started: readonly Session[]): string[] {
  const secrets = started.map(({ secret }) => secret);
  return challenges.filter((challenge) => secrets.some((secret) => challenge.includes(secret)));
}

const twice: Case = {
  section: '3',
  rule: 'opening the link leaves the session pending: a second time redirects to the same place',
  covers: ['4.authorize-redirect'],
  async run(bench) {
    const session = await bench.target.start(bench.options.serviceA);
    const first = await redirectParameters(bench, session);
    equal('parameters', await redirectParameters(bench, session), first);
  },
};

export const authorize: Group = {
  name: 'authorize',
  about: 'GET /auth/<service>, the browser link: where it leads',
  cases: [redirectA, redirectB, verifier, freshVerifier, twice],
};
