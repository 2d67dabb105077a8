/** Every provider that can be enabled by its name alone. Any other is set by its issuer or its endpoints (docs/configuration.md "Providers"). */
import type { Profile } from './profile.ts';
import { anilist } from './profiles/anilist.ts';
import { bangumi } from './profiles/bangumi.ts';
import { battlenet } from './profiles/battlenet.ts';
import { discord } from './profiles/discord.ts';
import { dropbox } from './profiles/dropbox.ts';
import { facebook } from './profiles/facebook.ts';
import { github } from './profiles/github.ts';
import { gitlab } from './profiles/gitlab.ts';
import { google } from './profiles/google.ts';
import { homeassistant } from './profiles/homeassistant.ts';
import { kick } from './profiles/kick.ts';
import { mal } from './profiles/mal.ts';
import { mangabaka } from './profiles/mangabaka.ts';
import { mastodon } from './profiles/mastodon.ts';
import { microsoft } from './profiles/microsoft.ts';
import { nextcloud } from './profiles/nextcloud.ts';
import { notion } from './profiles/notion.ts';
import { patreon } from './profiles/patreon.ts';
import { reddit } from './profiles/reddit.ts';
import { shikimori } from './profiles/shikimori.ts';
import { simkl } from './profiles/simkl.ts';
import { soundcloud } from './profiles/soundcloud.ts';
import { spotify } from './profiles/spotify.ts';
import { strava } from './profiles/strava.ts';
import { tidal } from './profiles/tidal.ts';
import { trakt } from './profiles/trakt.ts';
import { twitch } from './profiles/twitch.ts';
import { vimeo } from './profiles/vimeo.ts';
import { x } from './profiles/x.ts';
import { youtube } from './profiles/youtube.ts';

/** The order is that of the documentation. */
export const PROFILES: ReadonlyMap<string, Profile> = new Map(
  Object.entries({
    mal,
    anilist,
    shikimori,
    bangumi,
    mangabaka,
    simkl,
    trakt,
    spotify,
    tidal,
    google,
    youtube,
    twitch,
    kick,
    vimeo,
    soundcloud,
    patreon,
    discord,
    battlenet,
    reddit,
    github,
    gitlab,
    microsoft,
    facebook,
    x,
    dropbox,
    notion,
    strava,
    nextcloud,
    homeassistant,
    mastodon,
  }),
);

/** The default of `PROVIDERS`. */
export const DEFAULT_NAMES: readonly string[] = ['mal', 'anilist'];
