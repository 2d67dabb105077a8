/** Checks answers against the API document (docs/api.md): the relay does what the document says. */
import { Ajv2020 } from 'ajv/dist/2020';

/** An answer, and the request that it answers. */
interface Seen {
  readonly method: string;
  /** Has no query. */
  readonly path: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Named<Value> = Readonly<Record<string, Value>>;
type Headers = Named<{ readonly required?: boolean; readonly schema: { readonly type?: string } }>;

interface Described {
  readonly headers?: Headers;
  /** By media type. A picture has no schema in OpenAPI 3.1. */
  readonly content?: Named<{ readonly schema?: object } | undefined>;
}

/** By status. */
type Responses = Named<Described | undefined>;

/** What is read of the document. */
interface Api {
  readonly servers: readonly [{ readonly url: string }];
  readonly components: object;
  readonly paths: Named<Named<{ readonly responses: Responses } | undefined>>;
  readonly 'x-any-path': Responses;
  readonly 'x-every-response': { readonly headers: Headers };
}

/** The function throws if the document does not describe an answer. */
export function createApiCheck(document: string) {
  // Only schemas are referred to, and those of responses too find them by this name.
  const api: Api = JSON.parse(document.replaceAll('"#/components/', '"api#/components/'));
  const findOperations = createFindOperations(api);
  // The document is more than a schema, and formats are for its readers.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: 'api', components: api.components });

  function findInValue(what: string, value: unknown, schema: object): string[] {
    if (ajv.validate(schema, value)) return [];
    // Not the value: it may be a secret.
    return (ajv.errors ?? []).map(
      ({ instancePath, message }) => `${what}${instancePath} ${message}`,
    );
  }

  function findInHeaders(described: Headers, { headers }: Seen): string[] {
    return Object.entries(described).flatMap(([name, header]) => {
      const value = headers[name.toLowerCase()];
      if (value === undefined) return header.required ? [`${name} is missing`] : [];
      const isInteger = header.schema.type === 'integer';
      return findInValue(name, isInteger ? Number(value) : value, header.schema);
    });
  }

  function findInBody({ content }: Described, seen: Seen): string[] {
    const { method, headers, body } = seen;
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
    if (content === undefined || method === 'HEAD') return body === '' ? [] : ['there is a body'];
    const media = content[type];
    if (media === undefined) return [`the type is '${type}'`];
    if (media.schema === undefined) return [];
    return findInValue('body', type === 'application/json' ? JSON.parse(body) : body, media.schema);
  }

  function findProblems(seen: Seen): string[] {
    const general = findInHeaders(api['x-every-response'].headers, seen);
    const operation = findOperations(seen.path)?.[seen.method.toLowerCase()];
    if (operation === undefined || isForBrowser(seen)) return general;
    const problems = [operation.responses, api['x-any-path']]
      .map((responses) => responses[seen.status])
      .filter((described) => described !== undefined)
      .map((described) => [
        ...general,
        ...findInHeaders(described.headers ?? {}, seen),
        ...findInBody(described, seen),
      ]);
    if (problems.some(({ length }) => length === 0)) return [];
    return problems[0] ?? ['the document has no such answer'];
  }

  return async ({ method, url }: Request, answer: Response): Promise<void> => {
    const { status } = answer;
    const headers = Object.fromEntries(answer.headers);
    const path = new URL(url).pathname;
    const body = answer.body === null ? '' : await answer.clone().text();
    const problems = findProblems({ method, path, status, headers, body });
    if (problems.length === 0) return;
    throw new Error(`not in the API document: ${method} ${path} ${status}: ${problems.join('; ')}`);
  };
}

/** A page or a redirect, of which the document says only what every answer has. */
const isForBrowser = ({ status, headers }: Seen) =>
  Math.floor(status / 100) === 3 || /^text\/html/.test(headers['content-type'] ?? '');

/** The path item of a request, the most exact one, with the relay's base path or without. */
function createFindOperations({ servers: [server], paths }: Api) {
  const base = new URL(server.url).pathname.replace(/\/$/, '');
  const items = Object.entries(paths)
    .sort(([a], [b]) => a.split('{').length - b.split('{').length)
    .map(([template, item]) => {
      const pathname = template.replace(/\{(\w+)\}/g, ':$1');
      return { item, pattern: new URLPattern({ pathname: `{${base}}?${pathname}` }) };
    });
  return (path: string) => items.find(({ pattern }) => pattern.test({ pathname: path }))?.item;
}
