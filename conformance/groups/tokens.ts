/**
 * What holds for each request with a token of the device that the relay passes on to the provider,
 * to refresh or to revoke it: in the relay's own JSON (docs/extensions.md), and as a form of OAuth.
 */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { expectRequests, postJson } from '../device.ts';
import { between, equal } from '../expect.ts';
import { type Answer, type ClientAddress, formCall } from '../http.ts';
import { json, type Reply } from '../mock-provider.ts';
import { SERVICE_B } from '../options.ts';
import type { Case, Kit } from '../runner.ts';

type Fields = Readonly<Record<string, string>>;

export interface Endpoint {
  /** The sections that have the rules. */
  readonly section: string;
  /** From an address that has its whole burst, unless one is named: these requests are limited. */
  ask(
    kit: Kit,
    service: string,
    token: unknown,
    more?: Fields,
    from?: ClientAddress,
  ): Promise<Answer>;
  /** Sends malformed requests, some with this token. All must be refused. */
  expectMalformed(kit: Kit, token: string): Promise<void>;
  /** `words`: those of the provider, which the device gets. */
  expectRefused(answer: Answer, error: string, words?: string): void;
  /** The token may still be good. */
  expectFailed(answer: Answer): void;
  expectLimited(answer: Answer): void;
}

const MAX_BODY_BYTES = 16_384;
/** No provider can have issued these (RFC 6749 appendix A), so a relay sends them to none. */
const IMPOSSIBLE = ['a\nb', 'a\0b', 't\u00e9'];

/** At `path`, where `member` has the token. */
export function ownEndpoint(section: string, path: string, member: string): Endpoint {
  const endpoint: Endpoint = {
    section,
    ask: (kit, service, token, more, from) =>
      postJson(kit, path, { service, [member]: token, ...more }, from),
    async expectMalformed(kit, token) {
      for (const body of ['{', '', `{}${' '.repeat(MAX_BODY_BYTES)}`]) {
        expect.text(await postJson(kit, path, body), 400, 'Invalid JSON');
      }
      for (const body of ['null', { [member]: token }, { service: 'nosuch', [member]: token }]) {
        expect.text(await postJson(kit, path, body), 400, 'Unknown service');
      }
      for (const wrong of [undefined, '', 1, ...IMPOSSIBLE]) {
        endpoint.expectRefused(await endpoint.ask(kit, SERVICE_B, wrong), 'invalid_request');
      }
    },
    expectRefused(answer, error, words) {
      expect.status(answer, 400);
      expect.noStore(answer);
      const fields = words === undefined ? { error } : { error, error_description: words };
      equal('JSON fields', expect.object(answer), fields);
    },
    expectFailed: (answer) => expect.text(answer, 503, 'Server busy'),
    expectLimited: (answer) => expect.text(answer, 429, 'Rate limited'),
  };
  return endpoint;
}

/** At `/oauth2/<service>/<name>`, where the field `member` has the token, beside `form`. */
export function oauthEndpoint(
  section: string,
  name: string,
  member: string,
  form: Fields = {},
): Endpoint {
  const call = (service: string, fields: Fields) =>
    formCall(`/oauth2/${service}/${name}`, { ...form, ...fields });
  return {
    section,
    ask: ({ relay }, service, token, more, from = relay.nextAddress()) =>
      relay.send({ ...call(service, { [member]: String(token), ...more }), from }),
    async expectMalformed({ relay }, token) {
      const { body = '', ...rest } = call(SERVICE_B, {});
      for (const wrong of ['', `&${member}=`, `&${member}=${token}&${member}=${token}`]) {
        const answer = await relay.send({ ...rest, body: body + wrong });
        expect.oauthError(answer, 'invalid_request');
      }
      for (const wrong of IMPOSSIBLE) {
        const answer = await relay.send(call(SERVICE_B, { [member]: wrong }));
        expect.oauthError(answer, 'invalid_request');
      }
      expect.oauthError(await relay.send(call('nosuch', { [member]: token })), 'not_found', 404);
    },
    expectRefused(answer, error, words) {
      expect.oauthError(answer, error);
      equal("the provider's words", answer.body.includes(WORDS), words !== undefined);
    },
    expectFailed: (answer) => expect.oauthError(answer, 'temporarily_unavailable', 503),
    expectLimited: (answer) => expect.oauthError(answer, 'slow_down', 429),
  };
}

const WORDS = 'conformance-words-of-a-provider';
/** How many refreshes or revocations one address may send at once. */
const BURST = 10;
const SECONDS_PER_REQUEST = 2;

/** What a provider may reply. */
interface Replies {
  readonly errors: readonly (readonly [error: string, status: number])[];
  /** The device gets the provider's words with these. */
  readonly explained: readonly string[];
  readonly undecided: readonly Reply[];
  /** What it replies if it grants the request. */
  readonly granted: Reply;
}

export function testEndpoint(
  { section, ask, expectMalformed, expectRefused, expectFailed }: Endpoint,
  { errors, explained, undecided, granted }: Replies,
  test: (title: string, run: Case['run']) => void,
): void {
  test(`${section}: an error of the provider is passed on as 400`, async (kit) => {
    for (const [error, status] of errors) {
      const token = kit.provider.issue(json({ error, error_description: WORDS }, status));
      const words = explained.includes(error) ? WORDS : undefined;
      expectRefused(await ask(kit, SERVICE_B, token), error, words);
    }
  });

  test(`${section}: the provider did not decide: 503 with Retry-After, and a repeat asks it again`, async (kit) => {
    for (const reply of undecided) {
      const token = kit.provider.issue(reply);
      const failed = await ask(kit, SERVICE_B, token);
      expectFailed(failed);
      expect.retryAfter(failed);
      kit.provider.recover(token);
      expect.status(await ask(kit, SERVICE_B, token), 200);
    }
  });

  test(`${section}: a malformed request or token is refused, and sent to no provider`, async (kit) => {
    const token = kit.provider.issue(granted);
    await expectMalformed(kit, token);
    expectRequests(kit, token, 0);
  });
}

/** Both protocols of the relay, if there are two. */
export function testLimit(
  endpointsOf: (kit: Kit) => readonly Endpoint[],
  { granted }: Replies,
  test: (title: string, run: Case['run']) => void,
): void {
  test('Limits; docs/extensions.md "Refreshing": each address has one limit in both protocols, beside that of starts', async (kit) => {
    const endpoints = endpointsOf(kit);
    const from = kit.relay.nextAddress();
    const startedAt = performance.now();
    // All at once: on a slow machine a bucket fills as fast as one request follows another.
    const asked = times(2 * BURST, async (nth) => {
      const { ask, expectLimited } = endpoints[nth % endpoints.length] as Endpoint;
      const answer = await ask(kit, SERVICE_B, kit.provider.issue(granted), {}, from);
      if (answer.status === 200) return true;
      expectLimited(answer);
      between('Retry-After', Number(answer.headers['retry-after']), 1, SECONDS_PER_REQUEST);
      return false;
    });
    const accepted = (await Promise.all(asked)).filter(Boolean).length;
    const seconds = (performance.now() - startedAt) / 1000;
    between('accepted', accepted, BURST, BURST + Math.floor(seconds / SECONDS_PER_REQUEST));
    await kit.relay.start({ from });
  });
}
