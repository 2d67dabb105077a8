/** Every provider that can be enabled by its name alone. Any other is set by its issuer or its endpoints (docs/configuration.md "Providers"). */
import type { Profile } from './profile.ts';
import * as profiles from './profiles/index.ts';

export const PROFILES: ReadonlyMap<string, Profile> = new Map(Object.entries(profiles));

/** The default of `PROVIDERS`. */
export const DEFAULT_NAMES: readonly string[] = ['mal', 'anilist'];
