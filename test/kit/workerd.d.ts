/** The path of the runtime of Cloudflare Workers. */
declare module 'workerd' {
  const path: string;
  export default path;
}
