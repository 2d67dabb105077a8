/** Makes an old TV engine of a new browser. */

/** What Chromium 38 and 47 lack, or what the build does not need. Beyond ES5 it needs only `Promise`. */
const NEWER = {
  self: [
    'fetch',
    'AbortController',
    'AbortSignal',
    'Headers',
    'Request',
    'Response',
    'Symbol',
    'Map',
    'Set',
    'WeakMap',
    'WeakSet',
    'Proxy',
    'Reflect',
    'BigInt',
    'URL',
    'URLSearchParams',
    'TextEncoder',
    'TextDecoder',
    'structuredClone',
    'queueMicrotask',
  ],
  Object: ['assign', 'entries', 'values', 'fromEntries', 'is', 'getOwnPropertySymbols'],
  Array: ['from', 'of'],
  'Array.prototype': ['includes', 'find', 'findIndex', 'findLast', 'fill', 'flat', 'at', 'keys'],
  'String.prototype': [
    'includes',
    'startsWith',
    'endsWith',
    'repeat',
    'padStart',
    'at',
    'matchAll',
  ],
  Number: ['isFinite', 'isInteger', 'isNaN', 'parseInt', 'parseFloat'],
  Promise: ['allSettled', 'any', 'try', 'withResolvers'],
  'Promise.prototype': ['finally'],
  Math: ['imul', 'trunc', 'sign', 'clz32', 'fround', 'log2', 'hypot'],
  'Crypto.prototype': ['subtle', 'randomUUID'],
};

/** Run before a page's own scripts. Throws where it does not work. */
export const REMOVE_NEWER = Object.entries(NEWER)
  .flatMap(([owner, names]) => names.map((name) => `delete ${owner}.${name};`))
  .concat("if (Promise.prototype.finally || self.fetch) throw new Error('this engine is not old');")
  .join('\n');
