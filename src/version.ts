/** The version. scripts/build.ts defines the commit; a relay that runs from its sources has none. */
import packageJson from '../package.json' with { type: 'json' };

declare const BUILD_COMMIT: string | undefined;

/** `1.0.0`, or in a build `1.0.0 (commit 1a2b3c4)`. */
export const VERSION =
  typeof BUILD_COMMIT === 'undefined'
    ? packageJson.version
    : `${packageJson.version} (commit ${BUILD_COMMIT})`;
