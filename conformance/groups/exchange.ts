/** The outgoing code exchange, as the provider sees it: `protocol.md` §4. */

import { identityOf } from '../command/environment.ts';
import type { Bench, Case, Group } from '../engine/case.ts';
import { equal, matches, present } from '../engine/expect.ts';
import type { TokenRequest } from '../provider/played-provider.ts';
import { json } from '../provider/replies.ts';
import { linkPath } from '../wire/addresses.ts';
import { expectSuccessPage, readLocation } from '../wire/answers.ts';
import type { Session } from '../wire/ledger.ts';
import { signIn } from '../wire/sign-in.ts';

/** The one request that this code led to. */
function onlyRequest({ provider }: Bench, code: string): TokenRequest {
  const requests = provider.requests(code);
  equal('requests at the token address', requests.length, 1);
  return present('request', requests[0]);
}

async function signInAndRequest(bench: Bench, service: string) {
  const { session, code } = await signIn(bench, service);
  return { session, code, request: onlyRequest(bench, code) };
}

/** The parameters of the link's redirect, to hold the exchange against. */
async function authorizeParameters({ target }: Bench, session: Session): Promise<URLSearchParams> {
  const answer = await target.send({ path: linkPath(session) });
  return readLocation(answer).searchParams;
}

/** Fields sorted by name, so that their order is free and repetition shows. */
function sorted(fields: readonly (readonly [string, string])[]): [string, string][] {
  return fields.map(([name, value]): [string, string] => [name, value]).sort();
}

const request: Case = {
  section: '4',
  rule: 'POST to the token address, form-encoded (bare media type), accepting application/json',
  covers: ['4.exchange-request'],
  async run(bench) {
    for (const service of [bench.options.serviceA, bench.options.serviceB]) {
      const { request: got } = await signInAndRequest(bench, service);
      equal('method', got.method, 'POST');
      equal('path', got.path, new URL(identityOf(bench.options, service).tokenUrl).pathname);
      equal('Content-Type', got.headers['content-type'], 'application/x-www-form-urlencoded');
      equal('Accept', got.headers.accept, 'application/json');
    }
  },
};

const fieldsA: Case = {
  section: '4',
  rule: 'provider A: grant_type, code, client_id, redirect_uri and code_verifier, nothing else',
  covers: ['4.exchange-fields', '1.providers', '5.client-authentication'],
  async run(bench) {
    const { options } = bench;
    const { code, request: got, session } = await signInAndRequest(bench, options.serviceA);
    const verifier = present('code_verifier', new Map(got.form).get('code_verifier'));
    matches('code_verifier', verifier, /^[A-Za-z0-9\-._~]{64}$/);
    const expected = sorted([...commonFields(bench, session, code), ['code_verifier', verifier]]);
    equal('form fields', sorted(got.form), expected);
  },
};

const fieldsB: Case = {
  section: '4',
  rule: 'provider B: grant_type, code, client_id, redirect_uri and client_secret, nothing else',
  covers: ['4.exchange-fields', '1.providers', '5.client-authentication'],
  async run(bench) {
    const { options } = bench;
    const { code, request: got, session } = await signInAndRequest(bench, options.serviceB);
    const secret = identityOf(options, options.serviceB).clientSecret ?? '';
    const expected = sorted([...commonFields(bench, session, code), ['client_secret', secret]]);
    equal('form fields', sorted(got.form), expected);
  },
};

function commonFields({ options }: Bench, session: Session, code: string): [string, string][] {
  return [
    ['grant_type', 'authorization_code'],
    ['code', code],
    ['client_id', identityOf(options, session.service).clientId],
    ['redirect_uri', `${options.publicUrl}/auth/${session.service}/callback`],
  ];
}

const sameAsAuthorize: Case = {
  section: '1, 4',
  rule: 'the verifier sent is the challenge of the link (plain), and the redirect_uri is the same',
  covers: ['4.exchange-fields', '1.providers'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const asked = await authorizeParameters(bench, session);
    const { code } = provider.grant();
    expectSuccessPage(await target.callback(session, { code }));
    const form = new Map(onlyRequest(bench, code).form);
    equal('code_verifier', form.get('code_verifier'), asked.get('code_challenge'));
    equal('redirect_uri', form.get('redirect_uri'), asked.get('redirect_uri'));
  },
};

const reservedCharacters: Case = {
  section: '4',
  rule: 'a code of reserved and foreign characters reaches the provider unchanged',
  covers: ['4.exchange-fields'],
  async run({ target, provider, options }) {
    const session = await target.start(options.serviceA);
    const code = provider.plan(json({ access_token: 'unused' }), '/a+b c%20&state=x;=é€😀"<');
    expectSuccessPage(await target.callback(session, { code }));
    equal('requests with this very code', provider.requests(code).length, 1);
  },
};

const secretFromConfiguration: Case = {
  section: '1',
  rule: 'the client secret is the configured one, whatever a request says',
  covers: ['1.secret', '5.client-authentication'],
  async run(bench) {
    const { target, provider, options } = bench;
    for (const service of [options.serviceA, options.serviceB]) {
      const offered = { client_secret: 'offered', clientSecret: 'offered', client_id: 'offered' };
      const session = await target.start(service, undefined, offered);
      const { code } = provider.grant();
      await target.callback(session, { code, ...offered });
      const form = new Map(onlyRequest(bench, code).form);
      const { clientId, clientSecret } = identityOf(options, service);
      equal('client_secret', form.get('client_secret'), clientSecret);
      equal('client_id', form.get('client_id'), clientId);
    }
  },
};

export const exchange: Group = {
  name: 'exchange',
  about: 'the code exchange as the provider sees it',
  cases: [request, fieldsA, fieldsB, sameAsAuthorize, reservedCharacters, secretFromConfiguration],
};
