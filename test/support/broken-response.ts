/** Preloaded into a relay: when a signal says so, no answer can be made any more, not even to an error. */
process.on('SIGUSR2', () => {
  globalThis.Response = new Proxy(Response, {
    construct() {
      throw new TypeError('a message of its own');
    },
  });
});
