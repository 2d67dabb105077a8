/** Where the suite sends things, and in which form. */

import type { Call } from './http.ts';
import type { Session } from './ledger.ts';

/** The link as the suite reaches it; that `url` itself is right is a case of its own. */
export function linkPath(session: Session): string {
  return `/auth/${session.service}?${new URLSearchParams({ state: session.state })}`;
}

/** Where the provider sends the browser back to. */
export function callbackPath(
  { service, state }: Session,
  parameters: Readonly<Record<string, string>>,
): string {
  return `/auth/${service}/callback?${new URLSearchParams({ ...parameters, state })}`;
}

/** The short way in; the code as the device shows it. */
export function codePath(userCode: string): string {
  return `/L/${userCode}`;
}

export const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

export function formCall(path: string, form: Readonly<Record<string, string>>): Call {
  const body = new URLSearchParams(form).toString();
  return { method: 'POST', path, body, headers: FORM };
}
