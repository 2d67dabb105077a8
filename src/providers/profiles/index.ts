/** Every profile, by the name that `PROVIDERS` has for it. */
import { ACCOUNTS } from './accounts.ts';
import { ANIME } from './anime.ts';
import { FILES_AND_FITNESS } from './files-and-fitness.ts';
import { MEDIA } from './media.ts';
import type { Profile } from './profile.ts';

const profiles: Readonly<Record<string, Profile>> = {
  ...ANIME,
  ...MEDIA,
  ...ACCOUNTS,
  ...FILES_AND_FITNESS,
};

export const PROFILE_NAMES: readonly string[] = Object.keys(profiles);

export function findProfile(name: string): Profile | undefined {
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}
