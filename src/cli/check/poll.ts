/** Polls at the base URL, and reports how long that is held, or what ends it early. */
import { MAX_WAIT_SECONDS } from '../../limits.ts';
import type { Fetch } from '../../providers/config.ts';
import { codeOf } from '../../providers/connect-problem.ts';
import { parseObject } from '../../providers/token-response.ts';
import { type Finding, fault, ok } from './finding.ts';
import { ask, isTimeout, readText, remedyForProxy, request } from './request.ts';

const POLL = 'poll';

/** How long after the hold time `check` gives up. */
const MARGIN_MS = 10_000;

/** Starts a sign-in and cancels it afterwards. `isBlind`: the device must exchange the code itself. */
export async function checkPollOfSignIn(
  baseUrl: string,
  service: string,
  isBlind: boolean,
  fetch: Fetch,
  pollSeconds = MAX_WAIT_SECONDS,
): Promise<Finding> {
  const challenge = isBlind ? { challenge: 'A'.repeat(43) } : {};
  const body = JSON.stringify({ service, device: 'sign-in-relay check', ...challenge });
  const init = { ...request(), method: 'POST', body } as const;
  const { status, headers, text } = await ask(`${baseUrl}/auth/start`, fetch, init);
  const { session } = parseObject(text) ?? {};
  if (status !== 200 || typeof session !== 'string') {
    const got = status === undefined ? 'no answer' : `a ${status}`;
    const remedy = headers && remedyForProxy(status, headers);
    return fault(POLL, `a start gets ${got}`, remedy ?? 'read the log of the relay');
  }
  const resultUrl = `${baseUrl}/auth/result?session=${session}`;
  // `wait` may not be longer. A poll without it is held for POLL_SECONDS.
  const wait = pollSeconds <= MAX_WAIT_SECONDS ? `&wait=${pollSeconds}` : '';
  const finding = await timePoll(`${resultUrl}${wait}`, pollSeconds, 204, fetch);
  await ask(`${resultUrl}&cancel=1`, fetch);
  return finding;
}

export async function timePoll(url: string, pollSeconds: number, expected: number, fetch: Fetch) {
  const startedAtMs = performance.now();
  const timeoutMs = pollSeconds * 1_000 + MARGIN_MS;
  const raise = `raise the read timeout of the proxy above ${pollSeconds} s`;
  const elapsed = () => Math.round((performance.now() - startedAtMs) / 1_000);
  const cut = (by: string, remedy = 'read the logs of the proxy and of the relay') => {
    const seconds = elapsed();
    if (seconds === 0) return fault(POLL, `refused at once${by}`, remedy);
    const longer = `${raise}, or set POLL_SECONDS below ${seconds}`;
    return fault(POLL, `cut after ${seconds} s${by}`, longer);
  };
  try {
    const response = await fetch(url, request(timeoutMs));
    await readText(response.body);
    const { status, headers } = response;
    if (status === expected) return ok(POLL, `held for ${elapsed()} s, and nothing cut it`);
    const server = (headers.get('server') ?? '').replace(/[^\w./ -]/g, '').slice(0, 40);
    const by = `${server && ` by ${server}`} with ${status}`;
    return cut(by, remedyForProxy(status, headers));
  } catch (error) {
    if (!isTimeout(error)) {
      return cut(`: the connection was closed (${codeOf(error) || 'no answer'})`);
    }
    const text = `no response within ${timeoutMs / 1_000} s`;
    return fault(POLL, text, `${raise}: it may have cut the poll, and sent it again`);
  }
}
