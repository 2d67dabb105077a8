import type { Profile } from '../profile.ts';
import { google } from './google.ts';

export const youtube: Profile = {
  ...google,
  displayName: 'YouTube',
  scope: 'https://www.googleapis.com/auth/youtube.readonly',
  deviceFlow: 'RFC 8628: https://developers.google.com/youtube/v3/guides/auth/devices',
  traps: [
    ...google.traps,
    'Its scopes may be sensitive: an app that Google has not verified shows a warning, and may have a limited number of users.',
  ],
  sources: [
    ...google.sources,
    'https://developers.google.com/youtube/v3/guides/auth/devices',
    'https://support.google.com/cloud/answer/7454865',
  ],
};
