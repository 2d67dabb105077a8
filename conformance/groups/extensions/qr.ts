/** `/qr/<name>.svg|png`: what shows without a scanner. That every picture is read, the relay's own tests say. */

import type { Case, Group } from '../../engine/case.ts';
import { between, equal, matches, present, Skip } from '../../engine/expect.ts';
import { expectNoStore, expectNotAllowed, expectStatus } from '../../wire/answers.ts';
import type { Answer } from '../../wire/http.ts';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Width and height of a PNG: of its first chunk. ISO/IEC 15948 §11.2.2. */
function readPngSize({ bytes }: Answer): [number, number] {
  equal('signature', bytes.subarray(0, 8), PNG_SIGNATURE);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

/** A version 40 code is 177 modules wide; what is smaller than a third of the size is no use of it. */
function expectSquare(answer: Answer, sizePx: number): void {
  expectStatus(answer, 200);
  expectNoStore(answer);
  equal('Content-Type', answer.headers['content-type'], 'image/png');
  const [width, height] = readPngSize(answer);
  equal('height', height, width);
  between('width', width, sizePx / 3, sizePx);
}

const ofState: Case = {
  section: 'qr',
  rule: 'of a browser state: SVG and PNG, square, 400 pixels at most, never cached',
  covers: ['qr.picture', 'qr.size'],
  async run({ target, options }) {
    const { state } = await target.start(options.serviceA);
    expectSquare(await target.send({ path: `/qr/${state}.png` }), 400);
    const svg = await target.send({ path: `/qr/${state}.svg` });
    expectStatus(svg, 200);
    expectNoStore(svg);
    matches('Content-Type', svg.headers['content-type'], /^image\/svg\+xml\s*(;|$)/i);
    matches('body', svg.body, /^(<\?xml[^>]*>\s*)?<svg\b/);
  },
};

const ofCode: Case = {
  section: 'qr',
  rule: 'of a user code, at the address that the start gives',
  covers: ['qr.picture'],
  async run({ target, options }) {
    if (!options.extensions.has('user-code')) throw new Skip('needs --with user-code');
    const { userCode } = await target.start(options.serviceA, undefined, { code: true });
    const code = present('userCode', userCode);
    expectSquare(await target.send({ path: `/qr/${code}.png` }), 400);
    expectStatus(await target.send({ path: `/qr/${code}.svg` }), 200);
  },
};

const sizes: Case = {
  section: 'qr',
  rule: 'size from 100 to 1000 pixels; anything else is 400',
  covers: ['qr.size'],
  async run({ target, options }) {
    const { state } = await target.start(options.serviceA);
    for (const sizePx of [100, 401, 1000]) {
      expectSquare(await target.send({ path: `/qr/${state}.png?size=${sizePx}` }), sizePx);
    }
    for (const size of ['99', '1001', '-400', '400.5', '4e2', 'big', '']) {
      expectStatus(await target.send({ path: `/qr/${state}.png?size=${size}` }), 400);
    }
  },
};

const unknown: Case = {
  section: 'qr',
  rule: 'an unknown browser state, the poll secret and an unknown format: 404; not GET: 405',
  covers: ['qr.unknown'],
  async run({ target, options }) {
    const { state, secret } = await target.start(options.serviceA);
    const files = [`${secret}.png`, `${'A'.repeat(24)}.svg`, `${state}.gif`, state, '.png'];
    for (const file of files) {
      expectStatus(await target.send({ path: `/qr/${file}` }), 404);
    }
    for (const method of ['HEAD', 'POST', 'DELETE']) {
      expectNotAllowed(await target.send({ method, path: `/qr/${state}.png` }), method);
    }
  },
};

const over: Case = {
  section: 'qr',
  rule: 'a sign-in that has ended has no picture any more',
  covers: ['qr.unknown'],
  async run({ target, options }) {
    const session = await target.start(options.serviceA);
    await target.callback(session, { error: 'access_denied' });
    expectStatus(await target.send({ path: `/qr/${session.state}.png` }), 404);
  },
};

export const qr: Group = {
  name: 'qr',
  about: 'the link as a picture',
  extension: 'qr',
  cases: [ofState, ofCode, sizes, unknown, over],
};
