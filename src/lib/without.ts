// An object without some of its fields.
export const without = <T extends object, K extends keyof T>(from: T, ...names: readonly K[]): Omit<T, K> => {
  const rest = { ...from }
  for (const name of names) delete rest[name]
  return rest
}
