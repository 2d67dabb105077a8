/** A storage that can be damaged. */
export const entries = new Map();

export async function getItemAsync(key) {
  const value = entries.get(key);
  if (value instanceof Error) throw value;
  return value ?? null;
}
export const setItemAsync = async (key, value) => void entries.set(key, value);
export const deleteItemAsync = async (key) => void entries.delete(key);
