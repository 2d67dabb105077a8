/** The pages on which a person signs in and consents, in one step. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  InteractionDetails,
  InteractionResult,
  Provider,
} from 'oidc-provider/lib/provider.js';
import { accountIdOf, nameOf } from './account.ts';
import { messagePage, signInPage } from './page.ts';

const MAX_FORM_BYTES = 4_096;

export function isInteraction(request: IncomingMessage): boolean {
  return request.url?.startsWith('/interaction/') ?? false;
}

/** Shows the page, or takes what was sent with it and goes back to the provider's own pages. */
export async function handleInteraction(
  provider: Provider,
  appName: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const details = await provider.interactionDetails(request, response);
    if (request.method !== 'POST') {
      const accountId = details.session?.accountId;
      return sendPage(response, 200, signInPage(appName, accountId && nameOf(accountId)));
    }
    const result = await answer(provider, details, await readForm(request));
    await provider.interactionFinished(request, response, result);
  } catch {
    sendPage(response, 400, messagePage('This sign-in is over. Start again on your device.'));
  }
}

async function answer(
  provider: Provider,
  details: InteractionDetails,
  form: URLSearchParams,
): Promise<InteractionResult> {
  if (form.get('answer') !== 'allow') {
    return { error: 'access_denied', error_description: 'the person pressed Cancel' };
  }
  const accountId = details.session?.accountId ?? accountIdOf(form.get('name') || 'Somebody');
  const { client_id: clientId, scope = 'openid' } = details.params;
  const known = details.grantId && (await provider.Grant.find(details.grantId));
  const grant = known || new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(scope);
  return { login: { accountId }, consent: { grantId: await grant.save() } };
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const part of request) {
    text += String(part);
    if (text.length > MAX_FORM_BYTES) throw new Error('the form is too long');
  }
  return new URLSearchParams(text);
}

function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
  });
  response.end(html);
}
