/** The client for old televisions, in one script. Also in every build of the relay, for `dev`. */
import { fileURLToPath } from 'node:url';
import { minifySync, transformSync } from '@swc/core';

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
function same(value) { return value; }
function inherit(own, from) { own.prototype = Object.create(from.prototype); }
function run(self, body) {
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
const OWN: Readonly<Record<string, string>> = {
  _async_to_generator: 'same',
  _ts_generator: 'run',
  _extends: 'assign',
  _object_spread_props: 'assign',
  _inherits: 'inherit',
  _wrap_native_super: 'same',
  _type_of: 'typeof ',
};

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
    });
  // Around the helpers too: the one global is `SignInRelay`.
  return minifySync(`(function () {${HELPERS}${linked}})();`, {
    compress: { passes: 3, ecma: 5 },
    mangle: { toplevel: true },
    ecma: 5,
  }).code;
}
