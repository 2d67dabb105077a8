/** `GET /openapi.json`: every route, for programs. The tests hold each response to the document. docs/api.md. */
import type { Handler } from '../app.ts';
import { basePathOf } from '../request.ts';
import { jsonTextResponse } from '../responses.ts';

export function createOpenApi(baseUrl: string): Handler {
  let document: Promise<string> | undefined;
  return async () => {
    document ??= readDocument(baseUrl);
    return jsonTextResponse(await document);
  };
}

/** Loaded when somebody asks, and filled in once. */
async function readDocument(baseUrl: string): Promise<string> {
  const { default: template } = await import('./openapi.json', { with: { type: 'json' } });
  return JSON.stringify(template)
    .replaceAll('{{BASE_URL}}', baseUrl)
    .replaceAll('{{ORIGIN}}', new URL(baseUrl).origin)
    .replaceAll('{{BASE_PATH}}', basePathOf(baseUrl));
}
