/** What many answers of the API document have in common. */

/** A piece of an OpenAPI document. */
export type Part = Readonly<Record<string, unknown>>;

const header = (name: string): Part => ({ $ref: `#/components/headers/${name}` });

/** On every answer but a preflight's. */
export const EVERYWHERE: Part = {
  'Cache-Control': header('NoStore'),
  'Content-Security-Policy': header('ContentSecurityPolicy'),
  'Referrer-Policy': header('ReferrerPolicy'),
  'X-Content-Type-Options': header('NoSniff'),
};

export const LOCATION: Part = { Location: header('Location') };
export const RETRY_AFTER: Part = { 'Retry-After': header('RetryAfter') };
export const MAY_RETRY: Part = { 'Retry-After': header('RetryAfterOptional') };

export const UNDISCOVERED = "The provider's addresses are not known yet";

export interface Answer {
  /** The message, and a newline after it: one of these. */
  readonly texts?: readonly string[];
  readonly isPage?: boolean;
  /** Name of a schema, and what such a body looks like. */
  readonly json?: { readonly schema: string; readonly examples: Readonly<Record<string, Part>> };
  /** Beyond those on every answer. */
  readonly headers?: Part;
}

export function answer(description: string, { texts, isPage, json, headers }: Answer = {}): Part {
  const content = {
    ...(texts && { 'text/plain': { schema: { enum: texts.map((text) => `${text}\n`) } } }),
    ...(isPage && { 'text/html': { schema: { $ref: '#/components/schemas/Page' } } }),
    ...(json && { 'application/json': describeJson(json) }),
  };
  const hasContent = Object.keys(content).length > 0;
  return { description, headers: { ...EVERYWHERE, ...headers }, ...(hasContent && { content }) };
}

function describeJson({ schema, examples }: NonNullable<Answer['json']>): Part {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return {
    schema: { $ref: `#/components/schemas/${schema}` },
    examples: Object.fromEntries(named),
  };
}

/** Every method that is not described. RFC 9110 §15.5.6. */
export function notAllowed(...allowed: readonly string[]): Part {
  const headers = { Allow: { required: true, schema: { enum: allowed } } };
  return answer('Another method', { texts: ['Method not allowed'], headers });
}

export function page(description: string, headers?: Part): Part {
  return answer(description, { isPage: true, ...(headers && { headers }) });
}

/** The same without its body. */
export function headOf(get: Part & { readonly operationId: string }): Part {
  const { operationId, summary, tags } = get;
  const named = {
    operationId: `${operationId}Head`,
    summary: `${summary}: the headers alone`,
    tags,
  };
  const responses = Object.entries(get.responses as Record<string, Part>).map(
    ([status, { content: _, ...rest }]) => [status, rest],
  );
  return { ...named, responses: Object.fromEntries(responses) };
}

/** Of a web app whose origin is listed (CORS_ORIGINS); of any other it is a wrong method. */
export function preflight(operationId: string, refusals: Part): Part {
  const allows = (name: string) => [`Access-Control-${name}`, { required: true, schema: TEXT }];
  return {
    operationId,
    summary: 'May a web app of this origin ask?',
    tags: ['web-apps'],
    responses: {
      '204': {
        description: 'It may',
        headers: Object.fromEntries(
          ['Allow-Origin', 'Allow-Methods', 'Allow-Headers', 'Max-Age'].map(allows),
        ),
      },
      ...refusals,
    },
  };
}

const TEXT: Part = { type: 'string' };

export function parameter(name: string, place: 'path' | 'query' | 'header', rest: Part): Part {
  return { name, in: place, ...(place === 'path' && { required: true }), ...rest };
}

export const SERVICE = parameter('service', 'path', {
  description: 'The name of an enabled provider',
  schema: { type: 'string' },
  example: 'mal',
});

/** A body that may come as a form or as JSON of the same members. */
export function formBody(schema: Part, also: readonly string[] = []): Part {
  const types = ['application/x-www-form-urlencoded', ...also];
  return { content: Object.fromEntries(types.map((type) => [type, { schema }])) };
}
