/** What is read of the provider's token response and what the device gets of it: `protocol.md` §2. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import { json, type Reply, text } from '../provider/replies.ts';
import { makeTokens, type TokenResult, tokenResponse } from '../provider/tokens.ts';
import { expectErrorPage, expectSuccessPage } from '../wire/answers.ts';
import { NOT_EXCHANGED } from '../wire/messages.ts';
import { exchange, expectResult } from '../wire/sign-in.ts';

/** This token response leads to this result at the device. */
async function expectTokens(bench: Bench, reply: Reply, result: Partial<TokenResult>) {
  const { session, page } = await exchange(bench, bench.options.serviceA, reply);
  expectSuccessPage(page);
  await expectResult(bench, session, { ...result });
}

const wholeResult: Case = {
  section: '2',
  rule: 'accessToken, refreshToken and expiresIn reach the device, and no other field',
  covers: ['2.token-result', '2.token-response', '4.result-tokens'],
  async run(bench) {
    const result = makeTokens();
    await expectTokens(bench, json({ ...tokenResponse(result), id_token: 'x', error: '' }), result);
  },
};

const noRefreshToken: Case = {
  section: '2',
  rule: 'an empty or missing refresh_token is omitted from the result',
  covers: ['2.token-result'],
  async run(bench) {
    const { accessToken, expiresIn } = makeTokens();
    const fields = { access_token: accessToken, expires_in: expiresIn };
    await expectTokens(bench, json(fields), { accessToken, expiresIn });
    await expectTokens(bench, json({ ...fields, refresh_token: '' }), { accessToken, expiresIn });
  },
};

const noExpiry: Case = {
  section: '2',
  rule: 'a zero or missing expires_in is omitted from the result',
  covers: ['2.token-result'],
  async run(bench) {
    const { accessToken, refreshToken } = makeTokens();
    const fields = { access_token: accessToken, refresh_token: refreshToken };
    await expectTokens(bench, json(fields), { accessToken, refreshToken });
    await expectTokens(bench, json({ ...fields, expires_in: 0 }), { accessToken, refreshToken });
  },
};

const accessTokenAlone: Case = {
  section: '2',
  rule: 'an access token alone is a whole result',
  covers: ['2.token-result', '2.token-response'],
  async run(bench) {
    const { accessToken } = makeTokens();
    await expectTokens(bench, json({ access_token: accessToken }), { accessToken });
  },
};

const anyContentType: Case = {
  section: '2, 4',
  rule: 'the body decides, not its Content-Type: JSON sent as text is read',
  covers: ['2.token-response', '4.exchange-failures'],
  async run(bench) {
    const { accessToken } = makeTokens();
    const body = JSON.stringify({ access_token: accessToken });
    await expectTokens(bench, text(body, 200, 'text/plain'), { accessToken });
  },
};

const unchanged: Case = {
  section: '2',
  rule: 'tokens reach the device unchanged, whatever characters they have',
  covers: ['2.token-result', '2.token-response'],
  async run(bench) {
    const accessToken = `conformance-"\\/<>&' +%41é€😀\u2028-${'long'.repeat(4_000)}`;
    const refreshToken = 'conformance-\u0001-\t-=';
    const fields = { access_token: accessToken, refresh_token: refreshToken, expires_in: 1 };
    await expectTokens(bench, json(fields), { accessToken, refreshToken, expiresIn: 1 });
  },
};

const RESPONSE_BYTES = 65_536;

/** JSON of exactly so many bytes, with the token before what makes it long. */
function sized(accessToken: string, bytes: number): string {
  const head = `{"access_token":"${accessToken}","pad":"`;
  const body = `${head}${'x'.repeat(bytes - head.length - 2)}"}`;
  equal('bytes of the played response', Buffer.byteLength(body), bytes);
  return body;
}

const fullResponse: Case = {
  section: '2, 8',
  rule: 'a token response of exactly 64 KiB is read whole',
  covers: ['2.token-response', '8.upstream-body'],
  async run(bench) {
    const { accessToken } = makeTokens();
    await expectTokens(bench, text(sized(accessToken, RESPONSE_BYTES)), { accessToken });
  },
};

const tooLong: Case = {
  section: '2, 4, 8',
  rule: 'JSON longer than 64 KiB is not read whole: a failed exchange',
  covers: ['2.token-response', '8.upstream-body', '4.exchange-failures'],
  async run(bench) {
    for (const bytes of [RESPONSE_BYTES + 1, 1_000_000]) {
      const reply = text(sized(makeTokens().accessToken, bytes));
      const { session, page } = await exchange(bench, bench.options.serviceA, reply);
      expectErrorPage(page, 502, NOT_EXCHANGED);
      await expectResult(bench, session, { error: 'exchange_failed' });
    }
  },
};

export const tokenResponses: Group = {
  name: 'token-response',
  about: 'what is read of a token response, and what the device gets of it',
  cases: [
    wholeResult,
    noRefreshToken,
    noExpiry,
    accessTokenAlone,
    anyContentType,
    unchanged,
    fullResponse,
    tooLong,
  ],
};
