/**
 * All groups, in the order they are reported: what is slow comes last. An
 * extension brings its own groups here, and `--except` switches them off.
 */

import type { Group } from '../engine/case.ts';
import { authorize } from './authorize.ts';
import { authorizeRefused } from './authorize-refused.ts';
import { callback } from './callback.ts';
import { callbackPages } from './callback-pages.ts';
import { callbackRefused } from './callback-refused.ts';
import { capGroup } from './cap.ts';
import { capabilities } from './capabilities.ts';
import { clientAddress } from './client-address.ts';
import { exchange } from './exchange.ts';
import { expiry } from './expiry.ts';
import { headers } from './headers.ts';
import { hold } from './hold.ts';
import { journey } from './journey.ts';
import { methods } from './methods.ts';
import { paths } from './paths.ts';
import { races } from './races.ts';
import { rateLimit } from './rate-limit.ts';
import { result } from './result.ts';
import { start } from './start.ts';
import { startRefused } from './start-refused.ts';
import { tokenResponses } from './token-response.ts';
import { unconfigured } from './unconfigured.ts';
import { upstream, upstreamTimeout } from './upstream.ts';

export const GROUPS: readonly Group[] = [
  journey,
  start,
  startRefused,
  clientAddress,
  authorize,
  authorizeRefused,
  callback,
  callbackPages,
  callbackRefused,
  exchange,
  tokenResponses,
  result,
  capabilities,
  paths,
  methods,
  headers,
  unconfigured,
  upstream,
  races,
  rateLimit,
  upstreamTimeout,
  hold,
  capGroup,
  expiry,
];
