// Deep freezing: what the fake stores and hands out is shared, so nobody may change it; a reconcile that tries throws in its tests.

/** Freezes in place. What is frozen already is not entered again, so sharing structure stays cheap. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const child of Object.values(value)) deepFreeze(child)
  return value
}
