/** An issuer that takes a question for its discovery document, and never answers it. */
export function startSilentIssuer() {
  let questions = 0;
  const asking = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch() {
      questions += 1;
      asking.resolve();
      return new Promise<Response>(() => {});
    },
  });
  return {
    issuer: server.url.origin,
    /** Resolves when it is asked for the first time. */
    asked: asking.promise,
    questions: () => questions,
    stop: () => void server.stop(true),
  };
}
