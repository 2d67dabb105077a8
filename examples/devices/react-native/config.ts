/** Yours: the relay, its name of the provider, and something of the provider's API to show. */
export const RELAY = 'https://relay.example';
export const SERVICE = 'mal';
export const PROFILE_URL = 'https://api.myanimelist.net/v2/users/@me';
