/** `POST /oauth2/<service>/device_authorization`. RFC 8628 §3.1 and §3.2. */
import { DEVICE_POLL_INTERVAL_SECONDS, START_BODY_DEADLINE_MS } from '../../limits.ts';
import { cleanName } from '../../pages/shown-name.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import type { OAuthDoorOptions } from '../door-options.ts';
import { formatUserCode, shortLinkOf } from '../user-code.ts';
import { oauthAnswer, refuseAdmission, refuseOAuth, refuseUndiscovered } from './answers.ts';
import type { OAuthHandler } from './door.ts';
import { readParameters } from './parameters.ts';

/**
 * Anybody may ask, as at `/auth/start`: a client id is neither needed nor
 * looked at, since a device can keep no secret (RFC 8628 §5.6).
 */
export function createDeviceAuthorization(options: OAuthDoorOptions): OAuthHandler {
  const { admit, beginSignIn, rateLimiter, clock, baseUrl, sessionSeconds } = options;
  const repeatMs = options.deviceGrantRepeatSeconds * 1_000;
  const bodyDeadlines = createDeadlines(clock, START_BODY_DEADLINE_MS);

  return async (c, requestId, enabled) => {
    if (enabled === 'undiscovered') return refuseUndiscovered();
    const admission = await admit(c, rateLimiter);
    if (!admission.ok) return refuseAdmission(admission);
    const parameters = await readParameters(c.req.raw, bodyDeadlines);
    if (parameters === undefined) return refuseOAuth('invalid_request');
    const deviceName = cleanName(parameters.get('device'));
    // No standard client can acknowledge, and some poll twice at once: docs/device-grant.md.
    const asked = {
      withUserCode: true,
      keepsErrors: true,
      ...(repeatMs > 0 && { repeatMs }),
      ...(deviceName !== undefined && { deviceName }),
    };
    const started = await beginSignIn(enabled, asked, requestId);
    if (!started.ok) return refuseOAuth('temporarily_unavailable');
    const { pollSecret, userCode = '' } = started;
    return oauthAnswer({
      device_code: pollSecret,
      user_code: formatUserCode(userCode),
      verification_uri: `${baseUrl}/link`,
      verification_uri_complete: shortLinkOf(baseUrl, userCode),
      expires_in: sessionSeconds,
      interval: DEVICE_POLL_INTERVAL_SECONDS,
    });
  };
}
