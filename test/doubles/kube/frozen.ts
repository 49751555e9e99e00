// Deep freezing: the fake's objects are shared, so callers must not change them; a reconcile that tries throws in its tests.

/** Freezes in place. What is frozen already is not entered again, so sharing structure stays cheap. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const child of Object.values(value)) deepFreeze(child)
  return value
}
