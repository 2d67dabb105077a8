/** A user code beside the link: how a device comes by it, and a person from it to the provider. */

import type { Case, Group } from '../../engine/case.ts';
import { equal, holds, matches } from '../../engine/expect.ts';
import { codePath, formCall } from '../../wire/addresses.ts';
import { expectJson, expectStatus, readHtml, readJson } from '../../wire/answers.ts';
import {
  expectAsked,
  expectDeclined,
  expectLedToCode,
  expectOnTheWay,
  openCode,
  startWithCode,
  typeCode,
} from '../../wire/person.ts';

const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/;

const started: Case = {
  section: 'user-code',
  rule: '"code": true adds userCode, link and qr; anything but true, and the answer is as ever',
  covers: ['user-code.start', 'rfc8628.6.1'],
  async run({ target, options }) {
    const body = { service: options.serviceA };
    const { publicUrl } = options;
    const fields = readJson(await target.post(JSON.stringify({ ...body, code: true })));
    const names = ['expiresIn', 'link', 'qr', 'session', 'url', 'userCode'];
    equal('fields', Object.keys(fields).sort(), names);
    matches('userCode', String(fields.userCode), USER_CODE);
    equal('link', fields.link, `${publicUrl}/L/${fields.userCode}`);
    equal('qr', fields.qr, `${publicUrl}/qr/${fields.userCode}.png`);
    for (const code of [false, 'true', 1, null, {}]) {
      const plain = readJson(await target.post(JSON.stringify({ ...body, code })));
      equal('fields', Object.keys(plain).sort(), ['expiresIn', 'session', 'url']);
    }
  },
};

const typed: Case = {
  section: 'user-code',
  rule: 'a code is understood in any case and with any separators: 303 to its address',
  covers: ['user-code.form'],
  async run(bench) {
    const { userCode } = await startWithCode(bench);
    const bare = userCode.replace('-', '');
    const spaced = [...bare.toLowerCase()].join(' ');
    for (const written of [userCode, bare, spaced, ` ${userCode}\t`, bare.replace(/../g, '$&._')]) {
      const answer = await typeCode(bench, written);
      expectStatus(answer, 303);
      expectLedToCode(bench, answer, userCode);
    }
  },
};

const form: Case = {
  section: 'user-code',
  rule: '/link is a form with one field; what no code can be is 400 and the form again, escaped',
  covers: ['user-code.form'],
  async run(bench) {
    const shown = await bench.target.send({ path: '/link' });
    expectStatus(shown, 200);
    readHtml(shown);
    matches('page', shown.body, /<form[^>]*method="post"/);
    matches('page', shown.body, /<input[^>]*name="code"/);
    for (const written of ['', 'BCD', 'BCDF-GHJKL', 'AEIO-UAEI', '"><script>x</script>']) {
      const answer = await typeCode(bench, written);
      expectStatus(answer, 400);
      matches('page', answer.body, /<input[^>]*name="code"/);
      matches('page', answer.body, /role="alert"/);
      holds('page', !answer.body.includes('<script'), 'nothing unescaped', '<script');
    }
  },
};

const page: Case = {
  section: 'user-code',
  rule: 'the page shows code and device, escaped and of 40 characters at most, and opening it changes nothing',
  covers: ['user-code.page'],
  async run(bench) {
    const device = `<i>Küche</i> & ${'x'.repeat(60)}`;
    const session = await startWithCode(bench, { device });
    for (const _ of [1, 2, 3]) {
      const answer = await openCode(bench, session.userCode, session.from);
      expectAsked(answer, session);
      const { text } = readHtml(answer);
      holds('page', text.includes(session.userCode), 'the code', text);
      const name = [...device].slice(0, 40).join('');
      holds('page', text.includes(name) && !text.includes(`${name}x`), name, text);
    }
    expectStatus(await bench.target.open(session), 302);
  },
};

const oneAddress: Case = {
  section: 'user-code',
  rule: 'however the code is written in the address: sent on to the one spelling, nothing decided',
  covers: ['user-code.address'],
  async run(bench) {
    const { target } = bench;
    const session = await startWithCode(bench);
    const { userCode, from } = session;
    for (const written of [
      userCode.toLowerCase(),
      userCode.replace('-', ''),
      userCode.replace('-', ';'),
    ]) {
      const path = codePath(written);
      expectLedToCode(bench, await target.send({ path, from }), userCode);
      const form = formCall(path, { choice: 'continue' });
      expectLedToCode(bench, await target.send({ ...form, from }), userCode);
    }
    expectAsked(await openCode(bench, userCode, from), session);
  },
};

const goesOn: Case = {
  section: 'user-code',
  rule: 'continue: 303 to the provider; the sign-in ends as after the plain link',
  covers: ['user-code.continue'],
  async run(bench) {
    const { target, provider, options } = bench;
    for (const service of [options.serviceA, options.serviceB]) {
      const session = await startWithCode(bench, {}, service);
      expectOnTheWay(bench, await target.decide(session, 'continue'), session);
      const { code, result } = provider.grant();
      await target.callback(session, { code });
      expectJson(await target.poll(session.secret), { ...result });
    }
  },
};

const declined: Case = {
  section: 'user-code',
  rule: 'decline: a page, and the waiting device learns access_denied at once',
  covers: ['user-code.decline'],
  async run(bench) {
    const { target } = bench;
    const session = await startWithCode(bench);
    await expectDeclined(target, session);
    expectStatus(await target.open(session), 404);
  },
};

const once: Case = {
  section: 'user-code',
  rule: 'a code decides once, of any number of decisions at the same time; the plain link goes on',
  covers: ['user-code.once', 'user-code.continue'],
  async run(bench) {
    const { target } = bench;
    const session = await startWithCode(bench);
    const tries = Array.from({ length: 6 }, () => target.decide(session, 'continue'));
    const statuses = (await Promise.all(tries)).map(({ status }) => status).sort();
    equal('statuses', statuses, [303, 404, 404, 404, 404, 404]);
    expectStatus(await target.open(session), 302);
  },
};

const unknown: Case = {
  section: 'user-code',
  rule: 'a used code, one that never was and what no code can be: the same 404 page with the form',
  covers: ['user-code.once'],
  async run(bench) {
    const { target } = bench;
    const session = await startWithCode(bench);
    await target.decide(session, 'decline');
    const from = await target.sources.next();
    const texts: string[] = [];
    for (const code of [session.userCode, 'BBBB-BBBB', 'AAAA-AAAA', 'BCDF']) {
      const answer = await openCode(bench, code, from);
      expectStatus(answer, 404);
      matches('page', answer.body, /<input[^>]*name="code"/);
      texts.push(readHtml(answer).text);
    }
    equal('texts', new Set(texts).size, 1);
  },
};

const foreign: Case = {
  section: 'user-code',
  rule: "another site's form, and one without a choice, decide nothing: the page asks again",
  covers: ['user-code.foreign'],
  async run(bench) {
    const { target } = bench;
    const session = await startWithCode(bench);
    const senders = [
      { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
      { 'Sec-Fetch-Site': 'same-site' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
    ];
    for (const headers of senders) {
      for (const choice of ['continue', 'decline'] as const) {
        expectAsked(await target.decide(session, choice, headers), session);
      }
    }
    const own = {
      'Sec-Fetch-Site': 'same-origin',
      Origin: new URL(bench.options.publicUrl).origin,
    };
    expectOnTheWay(bench, await target.decide(session, 'continue', own), session);
  },
};

export const userCode: Group = {
  name: 'user-code',
  about: 'a code to type, and the page that it leads to',
  extension: 'user-code',
  cases: [started, typed, form, page, oneAddress, goesOn, declined, once, unknown, foreign],
};
