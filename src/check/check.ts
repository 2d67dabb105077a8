export async function check(_: unknown) {
  return { text: '', exitCode: 0 };
}
