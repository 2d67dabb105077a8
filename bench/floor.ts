/** What a sign-in is held against: the same server, giving the same short answer to everybody. */
Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT),
  development: false,
  fetch: () => new Response('ok'),
});
