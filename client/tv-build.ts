/** The client for old televisions, in one script. Also in every build of the relay, for `dev`. */
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';
import { minify } from 'uglify-js';
import type { Link } from './src/link.ts';
import type { Unsaved } from './src/machine.ts';
import type { Platform } from './src/platform.ts';
import type { SignInRelay } from './src/tv.ts';

const ENTRY = fileURLToPath(new URL('src/tv.ts', import.meta.url));

/**
 * What the compiler's output calls, in place of the compiler's own, which take a kilobyte more:
 * an async function without `try` as a list of steps (2 returns, 3 jumps, 4 awaits), and an
 * error class whose instances are errors.
 */
const HELPERS = `
function assign(to) {
  for (var index = 1; index < arguments.length; index++)
    for (var name in arguments[index]) to[name] = arguments[index][name];
  return to;
}
function inherit(own, from) { own.prototype = Object.create(from.prototype); }
function run(body) {
  return new Promise(function (resolve, reject) {
    var value;
    var state = { label: 0, sent: function () { return value; } };
    function go(sent) {
      value = sent;
      try {
        for (var step; (step = body(state))[0] === 3;) state.label = step[1];
        state.label++;
        if (step[0] === 2) resolve(step[1]);
        else Promise.resolve(step[1]).then(go, reject);
      } catch (reason) {
        reject(reason);
      }
    }
    go();
  });
}
`;
/** By the compiler's names. The empty ones leave what they are called with as it is. */
const OWN: Readonly<Record<string, string>> = {
  _async_to_generator: '',
  _ts_generator: 'run',
  _extends: 'assign',
  _object_spread_props: 'assign',
  _inherits: 'inherit',
  _wrap_native_super: '',
  _type_of: 'typeof ',
};

/** The names of the members of a type and of all types that it leads to, and its literal texts. */
type Names<Type> = Type extends (...given: infer Given extends unknown[]) => infer Result
  ? Names<Given[number]> | Names<Awaited<Result>>
  : Type extends object
    ? {
        [Name in keyof Type]-?: (string extends Name ? never : Name) | Names<Type[Name]>;
      }[keyof Type]
    : Type extends string
      ? string extends Type
        ? never
        : Type
      : never;

/** Names that the app, stored values, a challenge or the browser have too. */
type Outside =
  | Names<SignInRelay | Link['resumable'] | Unsaved['value'] | Platform['challenge']>
  | keyof (XMLHttpRequest & Location & Performance & Math & PropertyDescriptor & typeof Object);

type Words<Text> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
/** Names of OAuth and of headers are not the client's either. */
type Wrong<Text> = Extract<Words<Text>, Outside | `${string}_${string}` | Capitalize<string>>;

/** Does not compile with such a name. */
const internal = <Text extends string>(
  ...texts: ([Wrong<Text>] extends [never] ? Text : Wrong<Text>)[]
) => new RegExp(`^(${texts.join(' ').replace(/ /g, '|')})$`);

/**
 * Members that only the client's own code uses, which get shorter names. No request, no stored
 * value and no object of the browser that the client uses has one of these.
 */
const INTERNAL = internal(
  'abandon attempt before body clear confirm countdown date endMs failure how initialMs isJson',
  'isProvider isSaving isStopped items json key known label later leftMs onReply onStored options',
  'outage platform read refusal remove resultUrl retryAfter save sent settle shown text tokens',
  'tookMs type unfinished unsaved version wallMs',
);

/** All modules in one, without their types, as ES5 that needs no more than a `Promise`. */
export async function bundleForTv(): Promise<string> {
  const { outputs } = await Bun.build({ entrypoints: [ENTRY], target: 'browser' });
  const [output] = outputs;
  if (output === undefined) throw new Error('tv.ts: no output');
  const { code } = transformSync(await output.text(), {
    configFile: false,
    swcrc: false,
    isModule: false,
    jsc: {
      target: 'es5',
      loose: true,
      externalHelpers: true,
      assumptions: { setSpreadProperties: true, setPublicClassFields: true, noClassCalls: true },
    },
  });
  if (/\.trys\./.test(code)) throw new Error('tv.ts: an async function has a `try`');
  const linked = code
    .replace(/^var \w+ = require\("@swc\/helpers\/.*\n/gm, '')
    .replace(/\b(_[a-z_]+)\._(?=\()/g, (_, helper: string) => {
      const own = OWN[helper];
      if (own === undefined) throw new Error(`tv.ts: the compiler needs ${helper}`);
      return own;
    })
    // No function of the client has a `this`.
    .replaceAll('run(this, ', 'run(')
    // A copy with changes is one call, not two.
    .replace(/assign\(assign\(\{\}, (\w+)\), /g, 'assign({}, $1, ');
  const options = {
    module: false,
    toplevel: true,
    // The page of a packaged app is windows-1252, unless it names another encoding.
    output: { ascii_only: true },
    // The smallest after gzip, of all that keep ES5.
    compress: { arrows: false, functions: false, inline: 1, passes: 6, pure_getters: true },
    mangle: {
      properties: {
        regex: INTERNAL,
        // These too, if other objects of the language or the browser have such a name.
        builtins: true,
        domprops: true,
      },
    },
  };
  // Around the helpers too: the one global is `SignInRelay`.
  const { code: minified, error } = minify(`(function () {${HELPERS}${linked}})();`, options);
  if (error) throw error;
  return minified;
}
