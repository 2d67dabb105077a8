/**
 * The mock provider of answers.md: `npx bun test/kit/answers.ts [port]` answers each row at
 * `/<row>/token`. The authorization endpoint beside it sends every user back with a code.
 */
import { readFileSync } from 'node:fs';

/** A row of answers.md, which says what the columns are. */
export interface ProviderAnswer {
  readonly provider: string;
  readonly asked: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly gets: string;
  readonly hint: string;
}

const table = readFileSync(new URL('answers.md', import.meta.url), 'utf8').split('|---|\n')[1];

export const ANSWERS: ReadonlyMap<string, ProviderAnswer> = new Map(
  table
    ?.trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, row = '', provider = '', asked = '', status, headers, body, gets = '', hint = '']) => [
      row,
      {
        provider,
        asked,
        status: Number(status),
        headers: headers ? { [headers.split(': ')[0] ?? '']: headers.split(': ')[1] ?? '' } : {},
        body: body?.slice(1, -1) ?? '',
        gets,
        hint,
      },
    ]),
);

export function respondWith({ status, headers, body }: ProviderAnswer): Response {
  const type = { 'Content-Type': body.startsWith('<') ? 'text/html' : 'application/json' };
  return new Response(body, { status, headers: { ...type, ...headers } });
}

if (import.meta.main) {
  const { url } = Bun.serve({
    hostname: '127.0.0.1',
    port: Number(process.argv[2] ?? 0),
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const [, row = '', endpoint] = pathname.split('/');
      const answer = ANSWERS.get(row);
      if (answer === undefined) return new Response('no such row\n', { status: 404 });
      if (endpoint === 'token') return respondWith(answer);
      const back = new URLSearchParams({ code: 'code', state: searchParams.get('state') ?? '' });
      return Response.redirect(`${searchParams.get('redirect_uri')}?${back}`, 302);
    },
  });
  for (const [row, { provider, asked, gets, hint }] of ANSWERS) {
    console.log(`${url}${row}/token  ${provider}, ${asked}: ${gets} ${hint}`);
  }
}
