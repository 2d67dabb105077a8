/** How the relay writes its client id and secret into requests, and how to find the secret in a response. */
import { Buffer } from 'node:buffer';
import type { ProviderConfig } from './config.ts';

type Client = Pick<ProviderConfig, 'clientId' | 'clientSecret'>;

/** One value of application/x-www-form-urlencoded. */
export function formEncode(text: string): string {
  // Most codes and ids have nothing to encode.
  return /^[\w*.-]*$/.test(text) ? text : new URLSearchParams([['', text]]).toString().slice(1);
}

/** HTTP Basic. Id and secret are form-encoded first. RFC 6749 §2.3.1. */
export function basicCredentials({ clientId, clientSecret = '' }: Client): string {
  return Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64');
}

/** True if the text repeats the client secret, in any form in which the relay sends it. */
export function showsSecret(text: string, client: Client): boolean {
  const { clientSecret } = client;
  if (clientSecret === undefined) return false;
  return [
    clientSecret,
    formEncode(clientSecret),
    encodeURIComponent(clientSecret),
    JSON.stringify(clientSecret).slice(1, -1),
    basicCredentials(client),
  ].some((form) => text.includes(form));
}
