/** `POST /auth/start`: a device asks for a link. `protocol.md` §4. */
import { ACK_MS, START_BODY_BYTES, START_BODY_DEADLINE_MS } from '../../limits.ts';
import { cleanName } from '../../pages/shown-name.ts';
import { createDeadlines, type Deadlines } from '../../relay/deadlines.ts';
import type { Started, StartOptions } from '../../relay/relay.ts';
import { retryAfter } from '../admission.ts';
import { jsonAnswer } from '../answers.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { RETRY_DISCOVERY, refuse, refuseMethod } from '../errors.ts';
import type { Handler } from '../guard.ts';
import { parseMembers, readBody } from '../request-body.ts';
import { formatUserCode, shortLinkOf } from '../user-code.ts';

type Options = Pick<AuthDoorOptions, 'baseUrl' | 'sessionSeconds'>;

/** The checks stand in the order that the specification gives them. */
export function createStart(options: AuthDoorOptions): Handler {
  const { admit, beginSignIn, rateLimiter, providers, clock } = options;
  const bodyDeadlines = createDeadlines(clock, START_BODY_DEADLINE_MS);

  return async (c, requestId) => {
    if (c.req.method !== 'POST') return refuseMethod('POST');
    const admission = await admit(c, rateLimiter);
    if (!admission.ok) return refuse(admission.refusal, retryAfter(admission));
    const asked = await readAsked(c.req.raw, bodyDeadlines);
    if (asked === undefined) return refuse('invalid_json');
    const enabled = providers.get(asked.service);
    if (enabled === undefined) return refuse('unknown_service');
    if (enabled === 'undiscovered') return refuse('busy', RETRY_DISCOVERY);
    const started = await beginSignIn(enabled, asked, requestId);
    if (!started.ok) return refuse(started.refusal);
    return jsonAnswer(describeStarted(asked.service, started, options));
  };
}

/** What the start asks for; a wrong type counts as not asked. Undefined when it is not JSON. */
async function readAsked(request: Request, deadlines: Deadlines): Promise<Asked | undefined> {
  try {
    const { text } = await readBody(request, START_BODY_BYTES, deadlines);
    const { service, code, ack, device } = parseMembers(text);
    const deviceName = cleanName(device);
    return {
      service: typeof service === 'string' ? service : '',
      withUserCode: code === true,
      ...(ack === true && { repeatMs: ACK_MS }),
      ...(deviceName !== undefined && { deviceName }),
    };
  } catch {
    return undefined;
  }
}

interface Asked extends Omit<StartOptions, 'withVerifier'> {
  readonly service: string;
}

/** `protocol.md` §2, Start response; the last three only for a device that asked for a code. */
function describeStarted(service: string, started: Started, { baseUrl, sessionSeconds }: Options) {
  const { pollSecret, browserState, userCode } = started;
  return {
    session: pollSecret,
    url: `${baseUrl}/auth/${service}?state=${browserState}`,
    expiresIn: sessionSeconds,
    ...(userCode !== undefined && {
      userCode: formatUserCode(userCode),
      link: shortLinkOf(baseUrl, userCode),
      qr: `${baseUrl}/qr/${formatUserCode(userCode)}.png`,
    }),
  };
}
