/** `GET /openapi.json`: describes what devices request. docs/api.md. */
import type { Handler } from '../app.ts';
import { jsonTextResponse } from '../responses.ts';

export function createOpenApi(baseUrl: string): Handler {
  let document: string | undefined;
  return async () => {
    if (document === undefined) {
      // Loaded when needed, because few relays get such a request.
      const { describeApi } = await import('../openapi/document.ts');
      document = describeApi(baseUrl);
    }
    return jsonTextResponse(document);
  };
}
