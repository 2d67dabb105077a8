/** A token endpoint that answers when the test says so. */
export async function startHeldProvider() {
  let grant: (tokens: object) => void = () => {};
  let tellAsked: () => void = () => {};
  const granted = new Promise<object>((resolve) => {
    grant = resolve;
  });
  /** Resolves when the relay has brought a code. */
  const asked = new Promise<void>((resolve) => {
    tellAsked = resolve;
  });
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch() {
      tellAsked();
      return Response.json(await granted);
    },
  });
  return {
    tokenUrl: `${server.url.origin}/token`,
    asked,
    grant,
    stop: () => void server.stop(true),
  };
}
