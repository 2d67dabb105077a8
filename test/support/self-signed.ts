/** A certificate for localhost that nobody vouches for. */
export async function createSelfSigned(): Promise<{ key: string; cert: string }> {
  const made = Bun.spawn(
    'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout - -out -'.split(
      ' ',
    ),
    { stderr: 'ignore' },
  );
  const pem = await new Response(made.stdout).text();
  const part = (name: string) =>
    new RegExp(`-----BEGIN ${name}-----[^]*?-----END ${name}-----`).exec(pem)?.[0] ?? '';
  return { key: part('PRIVATE KEY'), cert: part('CERTIFICATE') };
}
