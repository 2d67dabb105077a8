/** What the callback's pages are made of, whatever their outcome: `protocol.md` §4. */

import type { Case, Group } from '../engine/case.ts';
import { holds, matches } from '../engine/expect.ts';
import { json } from '../provider/replies.ts';
import { expectErrorPage } from '../wire/answers.ts';
import type { Answer } from '../wire/http.ts';
import { FAILED } from '../wire/messages.ts';
import type { Parameters } from '../wire/target.ts';

const htmlType: Case = {
  section: '4',
  rule: 'every callback page is text/html; charset=utf-8',
  covers: ['4.callback-html'],
  async run(bench) {
    const { target, provider, options } = bench;
    const failing = provider.plan(json({}, 500));
    const { code } = provider.grant();
    const kinds: Parameters[] = [{ error: 'access_denied' }, { error: 'x' }, {}, { code: failing }];
    const answers: Answer[] = [];
    for (const parameters of [...kinds, { code }]) {
      const session = await target.start(options.serviceA);
      answers.push(await target.callback(session, parameters));
      // Once more: the page of a session that cannot take the result.
      answers.push(await target.callback(session, parameters));
    }
    answers.push(await target.send({ path: `/auth/${options.serviceA}/callback?code=x` }));
    for (const answer of answers) {
      matches('Content-Type', answer.headers['content-type'], /^text\/html; ?charset=utf-8$/i);
    }
  },
};

const MARK = 'conformance7341';

const neverReflected: Case = {
  section: '4',
  rule: 'nothing the callback was given shows on its page, escaped or not',
  covers: ['4.callback-error-page'],
  async run({ target, options }) {
    const marks = [`<script>${MARK}</script>`, `"><img src=x onerror=${MARK}>`, MARK];
    for (const mark of marks) {
      const session = await target.start(options.serviceA);
      const given = { error: mark, error_description: mark, error_uri: mark, extra: mark };
      const answer = await target.callback(session, given);
      expectErrorPage(answer, 200, FAILED);
      holds('page', !answer.body.includes(MARK), 'nothing of the error text', answer.body);
    }
  },
};

export const callbackPages: Group = {
  name: 'callback-pages',
  about: 'what the callback pages are made of',
  cases: [htmlType, neverReflected],
};
