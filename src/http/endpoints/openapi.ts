/** `GET /openapi.json`: describes what devices request. The tests check each response against it. docs/api.md. */
import type { Handler } from '../app.ts';
import { jsonTextResponse } from '../responses.ts';

export function createOpenApi(baseUrl: string, basePath: string): Handler {
  let document: Promise<string> | undefined;
  return async () => {
    document ??= readDocument(baseUrl, basePath);
    return jsonTextResponse(await document);
  };
}

/** Loaded at the first request, because few relays get any. */
async function readDocument(baseUrl: string, basePath: string): Promise<string> {
  const { default: template } = await import('./openapi.json', { with: { type: 'json' } });
  return JSON.stringify(template)
    .replaceAll('{{BASE_URL}}', () => baseUrl)
    .replaceAll('{{ORIGIN}}', () => new URL(baseUrl).origin)
    .replaceAll('{{BASE_PATH}}', () => basePath);
}
