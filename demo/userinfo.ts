/** Asks the provider itself whether the access token is good, and whose it is. */

export async function askUserinfo(issuer: string, accessToken: string): Promise<string> {
  const discovery = await readJson(`${issuer}/.well-known/openid-configuration`);
  const endpoint = discovery.userinfo_endpoint;
  if (typeof endpoint !== 'string') throw new Error('The provider names no userinfo endpoint.');
  const { name } = await readJson(endpoint, { Authorization: `Bearer ${accessToken}` });
  if (typeof name !== 'string') throw new Error("The provider's userinfo gave no name.");
  return name;
}

async function readJson(
  address: string,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(address, { headers });
  if (response.status !== 200) throw new Error(`${address} answered ${response.status}.`);
  return (await response.json()) as Record<string, unknown>;
}
