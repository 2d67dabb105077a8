export async function login(_: readonly string[]): Promise<number> {
  return 2;
}
