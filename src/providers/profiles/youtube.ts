import type { Profile } from '../profile.ts';
import { google } from './google.ts';

export const youtube: Profile = {
  ...google,
  displayName: 'YouTube',
  scope: 'https://www.googleapis.com/auth/youtube.readonly',
};
