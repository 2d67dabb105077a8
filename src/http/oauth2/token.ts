/** `POST /oauth2/<service>/token`: a device polls, or refreshes. RFC 8628 §3.4, RFC 6749 §6. */
import { START_BODY_DEADLINE_MS } from '../../limits.ts';
import { log } from '../../operate/log.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import { digestOf, isCapability } from '../../relay/secrets.ts';
import type { OAuthDoorOptions } from '../door-options.ts';
import { describeTokens, oauthAnswer, refuseOAuth, refuseUndiscovered } from './answers.ts';
import type { OAuthHandler } from './door.ts';
import {
  DEVICE_CODE_GRANT,
  parsePreferredWait,
  REFRESH_GRANT,
  readParameters,
} from './parameters.ts';
import { createRefresh } from './refresh.ts';

export function createToken(options: OAuthDoorOptions): OAuthHandler {
  const bodyDeadlines = createDeadlines(options.clock, START_BODY_DEADLINE_MS);
  const refresh = createRefresh(options);
  const pollToken = createPollToken(options);

  return async (c, requestId, enabled) => {
    const parameters = await readParameters(c.req.raw, bodyDeadlines);
    if (parameters === undefined) return refuseOAuth('invalid_request');
    switch (parameters.get('grant_type')) {
      case DEVICE_CODE_GRANT:
        return pollToken(c.req.raw, requestId, parameters.get('device_code'));
      case REFRESH_GRANT:
        if (enabled === 'undiscovered') return refuseUndiscovered();
        return refresh(c, requestId, enabled.provider, parameters);
      case undefined:
        return refuseOAuth('invalid_request', { description: 'grant_type is missing' });
      default:
        return refuseOAuth('unsupported_grant_type');
    }
  };
}

/** The result first, the pace second: a device that is early is still handed what is there. */
function createPollToken({ relay, pollPace, clock, pollSeconds }: OAuthDoorOptions) {
  return async (request: Request, requestId: string, deviceCode: string | undefined) => {
    if (deviceCode === undefined) {
      return refuseOAuth('invalid_request', { description: 'device_code is missing' });
    }
    if (!isCapability(deviceCode)) return refuseOAuth('invalid_grant');
    const preferred = parsePreferredWait(request.headers.get('prefer') ?? undefined);
    const holdSeconds = Math.min(preferred, pollSeconds);
    const headers = appliedOf(holdSeconds);
    const claim = await relay.wait(deviceCode, request.signal, holdSeconds);
    switch (claim.state) {
      case 'gone':
        return refuseOAuth('expired_token');
      case 'pending': {
        const pace = await pollPace.take(digestOf(deviceCode), clock.now());
        return refuseOAuth(pace.ok ? 'authorization_pending' : 'slow_down', { headers });
      }
      case 'claimed': {
        log.debug('result_delivered', { requestId });
        const { result } = claim;
        if ('error' in result) return refuseOAuth(result.error, { headers });
        return oauthAnswer(describeTokens(result), headers);
      }
    }
  };
}

/** RFC 7240 §3. */
function appliedOf(holdSeconds: number): Record<string, string> {
  return holdSeconds > 0 ? { 'Preference-Applied': `wait=${holdSeconds}` } : {};
}
