/** The providers that are known by their names. Any other is set by its issuer or its endpoints (docs/configuration.md "Providers"). */
import type { Profile } from './profile.ts';
import * as profiles from './profiles/index.ts';

/** Those that can be enabled by their names alone. */
export const PROFILES: ReadonlyMap<string, Profile> = new Map(Object.entries(profiles));

/** The default of `PROVIDERS`. */
export const DEFAULT_NAMES: readonly string[] = ['mal', 'anilist'];

/** Those that can't be enabled by their names. Each has a guide that says why, and what to do instead. */
export const UNSUPPORTED: readonly string[] = [
  'amazon',
  'apple',
  'deezer',
  'fitbit',
  'goodreads',
  'instagram',
  'itchio',
  'jellyfin',
  'kitsu',
  'lastfm',
  'letterboxd',
  'playstation',
  'plex',
  'salesforce',
  'steam',
  'tado',
  'vk',
  'yandex',
];
