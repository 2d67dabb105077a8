/** The user code: how a device gets one, the page that it opens, and how often codes may be guessed. */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { expectSignsIn } from '../device.ts';
import { between, equal, holds, matches } from '../expect.ts';
import { type Answer, formCall } from '../http.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { codePath, type Parameters, type Session } from '../relay.ts';
import { type Case, cases, type Kit } from '../runner.ts';
import {
  expectConfirmationPage,
  expectRedirectToCode,
  expectRedirectToProvider,
  openCode,
  startWithCode,
  typeCode,
} from '../user.ts';

const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
export const USER_CODE = new RegExp(`^[${LETTERS}]{4}-[${LETTERS}]{4}$`);
/** The letter as a Japanese keyboard writes it. */
const toFullWidth = (letter: string) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0);
const CODE_FIELD = /<input[^<>]*name="code"/;

/** A user who presses a button once more after the sign-in has ended: the page says how it ended. */
async function expectSameEnding({ relay }: Kit, session: Session): Promise<void> {
  const pages = [
    await relay.decide(session, 'continue'),
    await relay.decide(session, 'decline'),
    await relay.decide(session, 'decline'),
  ];
  for (const page of pages) {
    expect.status(page, 200);
    holds('page', !/<(?:form|button)/.test(page.body), 'nothing left to decide', page.body);
  }
  equal('different texts', new Set(pages.map((page) => expect.html(page).text)).size, 1);
}

/** What the page does that asks: at the short link, or at a link that asks. */
export function testDecisions(
  start: (kit: Kit, service?: string) => Promise<Session>,
  test: (title: string, run: Case['run']) => void,
): void {
  test('docs/user-pages.md "The pages"; On request: Continue, also at once: 303 to the provider; the sign-in ends as by the link', async (kit) => {
    for (const service of [SERVICE_A, SERVICE_B]) {
      const session = await start(kit, service);
      const pressed = times(6, () => kit.relay.decide(session, 'continue'));
      for (const answer of await Promise.all(pressed)) {
        expectRedirectToProvider(kit, answer, session);
      }
      await expectSignsIn(kit, session);
      await expectSameEnding(kit, session);
    }
  });

  test('On request: Decline, and again: a page, and the waiting device gets access_denied at once', async (kit) => {
    const session = await start(kit, SERVICE_B);
    const parked = await kit.relay.park(session);
    const page = await kit.relay.decide(session, 'decline');
    expect.status(page, 200);
    expect.html(page);
    const answer = await parked.answer;
    expect.json(answer, { error: 'access_denied' });
    expect.atOnce(answer);
    await expectSameEnding(kit, session);
    // A link that asks shows the ending too.
    expect.status(await kit.relay.open(session), session.userCode ? 404 : 200);
  });

  test('docs/user-pages.md "The pages": a form from another site, or without a choice, decides nothing: the page asks', async (kit) => {
    const { relay, options } = kit;
    const session = await start(kit);
    const { origin: Origin } = new URL(options.baseUrl);
    const foreign: Parameters[] = [
      { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
      { 'Sec-Fetch-Site': 'cross-site', Origin },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'none' },
      { Origin: 'https://evil.example' },
      { Origin: `${Origin}.evil.example` },
    ];
    for (const headers of foreign) {
      for (const choice of ['continue', 'decline']) {
        expectConfirmationPage(await relay.decide(session, choice, headers), session);
      }
    }
    // A proxy that adds a Referrer-Policy hides the origin: docs/proxies.md.
    expect.status(await relay.decide(session, 'continue', { Origin: 'null' }), 403);
    expectConfirmationPage(await relay.decide(session), session);
    // Older browsers send only the Origin, and even older ones nothing.
    const own: Parameters[] = [{ 'Sec-Fetch-Site': 'same-origin', Origin }, { Origin }, {}];
    for (const headers of own) {
      expectRedirectToProvider(kit, await relay.decide(session, 'continue', headers), session);
    }
  });
}

export const userCode = cases((test) => {
  test('On request; RFC 8628 §6.1: "code": true adds userCode, link and qr; any other value adds nothing', async (kit) => {
    const { relay, options } = kit;
    const { baseUrl } = options;
    const service = SERVICE_A;
    const fields = expect.json(await relay.postStart({ service, code: true }));
    const names = ['expiresIn', 'link', 'qr', 'session', 'url', 'userCode'];
    equal('fields', Object.keys(fields).sort(), names);
    matches('userCode', String(fields.userCode), USER_CODE);
    equal('link', fields.link, `${baseUrl}/L/${fields.userCode}`);
    equal('qr', fields.qr, `${baseUrl}/qr/${fields.userCode}.png`);
    for (const code of [false, 'true', 1, null, {}]) {
      const plain = expect.json(await relay.postStart({ service, code }));
      equal('fields', Object.keys(plain).sort(), ['expiresIn', 'session', 'url']);
    }
  });

  test('docs/user-pages.md "The pages": a code is accepted in any case, width and with any separators: 303 to its page', async (kit) => {
    const { userCode } = await startWithCode(kit);
    const bare = userCode.replace('-', '');
    const spaced = [...bare.toLowerCase()].join(' ');
    const fullWidth = bare.replace(/./g, toFullWidth);
    const separated = [` ${userCode}\t`, bare.replace(/../g, '$&._'), userCode.replace('-', '–')];
    for (const typed of [userCode, bare, spaced, fullWidth, ...separated]) {
      const answer = await typeCode(kit, typed);
      expect.status(answer, 303);
      expectRedirectToCode(kit, answer, userCode);
    }
  });

  test('docs/user-pages.md "The pages": /link is a form with one field; what cannot be a code is 400 and the form again', async (kit) => {
    const form = await kit.relay.send({ path: '/link' });
    expect.status(form, 200);
    expect.html(form);
    matches('page', form.body, /<form[^<>]*method="post"/);
    matches('page', form.body, CODE_FIELD);
    for (const typed of ['', 'BCD', 'BCDF-GHJKL', 'AEIO-UAEI', '"><script>x</script>']) {
      const redirect = await typeCode(kit, typed);
      expect.status(redirect, 303);
      const location = new URL(redirect.headers.location ?? '', kit.options.baseUrl);
      const answer = await kit.relay.send({ path: `/link${location.search}` });
      expect.status(answer, 400);
      matches('page', answer.body, CODE_FIELD);
      matches('page', answer.body, /role="alert"/);
      holds('page', !answer.body.includes('<script'), 'nothing unescaped', '<script');
    }
  });

  test('docs/user-pages.md "The pages": the page shows code and device, escaped, 40 characters at most; changes nothing', async (kit) => {
    const device = `<i>Küche</i> & ${'x'.repeat(60)}`;
    const session = await startWithCode(kit, { device });
    for (const _ of [1, 2, 3]) {
      const answer = await openCode(kit, session.userCode, session.from);
      expectConfirmationPage(answer, session);
      const { text } = expect.html(answer);
      holds('page', text.includes(session.userCode), 'the code', text);
      const name = [...device].slice(0, 40).join('');
      holds('page', text.includes(name) && !text.includes(`${name}x`), name, text);
    }
    expect.status(await kit.relay.open(session), 302);
  });

  test('docs/user-pages.md "The pages": other spellings of the code redirect to the one spelling, and decide nothing', async (kit) => {
    const session = await startWithCode(kit);
    const { userCode, from } = session;
    const changed = [userCode.toLowerCase(), userCode.replace('-', ''), userCode.replace('-', ';')];
    const paths = [...changed, `${userCode},`].map(codePath);
    for (const path of [...paths, `/l/${userCode}`]) {
      expectRedirectToCode(kit, await kit.relay.send({ path, from }), userCode);
      const form = formCall(path, { choice: 'continue' });
      expectRedirectToCode(kit, await kit.relay.send({ ...form, from }), userCode);
    }
    expectConfirmationPage(await openCode(kit, userCode, from), session);
  });

  testDecisions((kit, service = SERVICE_A) => startWithCode(kit, { service }), test);

  test('docs/user-pages.md "The pages": an unknown code and what cannot be a code: the same 404 page with the form', async (kit) => {
    const from = kit.relay.nextAddress();
    const texts: string[] = [];
    for (const code of ['BBBB-BBBB', 'AAAA-AAAA', 'BCDF']) {
      const answer = await openCode(kit, code, from);
      expect.status(answer, 404);
      matches('page', answer.body, CODE_FIELD);
      texts.push(expect.html(answer).text);
    }
    equal('different texts', new Set(texts).size, 1);
  });
});

/** Matches a live code once in millions of runs. */
function guess(): string {
  const letters = times(8, () => LETTERS[Math.floor(Math.random() * LETTERS.length)]).join('');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

const BURST = 10;
const SECONDS_PER_GUESS = 10;

/** Sends `count` wrong codes from one address, whose token bucket decides how many are looked up. */
async function guessFrom(kit: Kit, count: number) {
  const from = kit.relay.nextAddress();
  const startedAt = performance.now();
  const statuses: number[] = [];
  for (const _ of times(count, Number)) {
    statuses.push((await kit.relay.send({ path: codePath(guess()), from })).status);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const lookedUp = statuses.filter((status) => status !== 429);
  between('codes looked up', lookedUp.length, BURST, BURST + 1 + seconds / SECONDS_PER_GUESS);
  equal('their statuses', new Set(lookedUp), new Set([404]));
  return from;
}

function expectLimited(answer: Answer): void {
  expect.status(answer, 429);
  expect.html(answer);
  expect.retryAfter(answer);
}

export const codeLimits = cases((test) => {
  test('RFC 8628 §5.1: after ten wrong codes an address gets 429 with Retry-After, for a right one too', async (kit) => {
    const session = await startWithCode(kit);
    const from = await guessFrom(kit, BURST + 6);
    const ask = async () => ({
      wrong: await openCode(kit, guess(), from),
      right: await openCode(kit, session.userCode, from),
    });
    let { wrong, right } = await ask();
    // On a busy machine the address may have gained a guess meanwhile.
    for (let tries = 0; (wrong.status !== 429 || right.status !== 429) && tries < 3; tries += 1) {
      ({ wrong, right } = await ask());
    }
    expectLimited(wrong);
    expectLimited(right);
    equal('page', right.body, wrong.body);
    expectConfirmationPage(await openCode(kit, session.userCode, session.from), session);
  });
});
