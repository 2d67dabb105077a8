/** Preloaded into a relay: reading an address throws, with a message that holds it, as the runtime's own do. */

URL.canParse = (address) => {
  throw new TypeError(`cannot read ${address}\n    at ${address}`);
};
