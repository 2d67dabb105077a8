/** `/qr/<name>.svg` and `.png`: status, format and size. Whether a scanner reads a picture, the relay's own tests check. */

import * as expect from '../answers.ts';
import { between, equal, matches, present, Skip } from '../expect.ts';
import type { Answer } from '../http.ts';
import { cases } from '../runner.ts';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Offsets within a file: the first chunk begins with both (ISO/IEC 15948 §11.2.2). */
const PNG_WIDTH = 16;
const PNG_HEIGHT = 20;

/** A PNG that is square, no wider than asked, and not less than a third of that. */
function expectSquarePng(answer: Answer, size: number): void {
  expect.status(answer, 200);
  expect.noStore(answer);
  equal('Content-Type', answer.headers['content-type'], 'image/png');
  equal('signature', answer.bytes.subarray(0, PNG_SIGNATURE.length), PNG_SIGNATURE);
  const width = answer.bytes.readUInt32BE(PNG_WIDTH);
  equal('height', answer.bytes.readUInt32BE(PNG_HEIGHT), width);
  between('width', width, size / 3, size);
}

export const qr = cases((test) => {
  test('docs/qr.md "Responses": of a browser state: SVG and PNG, square, at most 400 pixels wide, never cached', async (kit) => {
    const { state } = await kit.relay.start();
    expectSquarePng(await kit.relay.send({ path: `/qr/${state}.png` }), 400);
    const svg = await kit.relay.send({ path: `/qr/${state}.svg` });
    expect.status(svg, 200);
    expect.noStore(svg);
    matches('Content-Type', svg.headers['content-type'], /^image\/svg\+xml\s*(;|$)/i);
    matches('body', svg.body, /^(<\?xml[^>]*>\s*)?<svg\b/);
  });

  test('docs/qr.md "Which picture": of a user code, at the address that the start answers', async (kit) => {
    const { relay, options } = kit;
    if (!options.extensions.has('user-code')) throw new Skip('needs --with user-code');
    const code = present('userCode', (await relay.start({ code: true })).userCode);
    expectSquarePng(await relay.send({ path: `/qr/${code}.png` }), 400);
    expect.status(await relay.send({ path: `/qr/${code}.svg` }), 200);
  });

  test('docs/qr.md "Size": size may be 100 to 1000 pixels; anything else is 400', async (kit) => {
    const { state } = await kit.relay.start();
    for (const size of [100, 401, 1000]) {
      expectSquarePng(await kit.relay.send({ path: `/qr/${state}.png?size=${size}` }), size);
    }
    for (const size of ['99', '1001', '-400', '400.5', '4e2', 'big', '']) {
      expect.status(await kit.relay.send({ path: `/qr/${state}.png?size=${size}` }), 400);
    }
  });

  test('docs/qr.md "Responses": an ended or unknown sign-in, a poll secret, an unknown format: 404; not GET: 405', async (kit) => {
    const { state, pollSecret } = await kit.relay.start();
    const ended = await kit.relay.start();
    await kit.relay.callback(ended, { error: 'access_denied' });
    for (const file of [
      `${ended.state}.png`,
      `${pollSecret}.png`,
      `${'A'.repeat(24)}.svg`,
      `${state}.gif`,
      state,
      '.png',
    ]) {
      expect.status(await kit.relay.send({ path: `/qr/${file}` }), 404);
    }
    for (const method of ['HEAD', 'POST', 'DELETE']) {
      expect.notAllowed(await kit.relay.send({ method, path: `/qr/${state}.png` }), method);
    }
  });
});
