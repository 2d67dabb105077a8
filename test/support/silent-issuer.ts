/** An issuer that takes a question for its discovery document, and answers when it is told to, or never. */
export function startSilentIssuer() {
  const asking = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch({ url }) {
      asking.resolve();
      await answering.promise;
      const { origin } = new URL(url);
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
      });
    },
  });
  return {
    issuer: server.url.origin,
    /** Resolves when it is asked for the first time. */
    asked: asking.promise,
    answer: answering.resolve,
    stop: () => void server.stop(true),
  };
}
