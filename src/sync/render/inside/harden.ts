// Makes everything that fleet code can reach immutable before the code runs, so that these objects keep their behavior for Node.js and for the cage.

/**
 * Properties that code sets on objects which inherit them, as in `this.toString = …`. A frozen property would refuse that, so these become accessors
 * that set a property on the object itself. Only a few, because the engine is faster with plain properties.
 */
const OVERRIDABLE: readonly (readonly [object, string])[] = [
  [Object.prototype, 'constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf'],
  [Function.prototype, 'apply bind call constructor toString'],
  [Array.prototype, 'toLocaleString toString'],
  [Date.prototype, 'toString'],
  ...[Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
    ({ prototype }) => [prototype, 'constructor message name toString'] as const,
  ),
]

/** No property of any global leads to these. */
const UNNAMED: readonly unknown[] = [
  async () => undefined,
  function* () {},
  async function* () {},
  (function* () {})(),
  (async function* () {})(),
  [][Symbol.iterator](),
  new Map()[Symbol.iterator](),
  new Set()[Symbol.iterator](),
  ''[Symbol.iterator](),
  'a'.matchAll(/a/g),
  [].values().map((x) => x),
  Iterator.from({ next: () => ({ done: true, value: undefined }) }),
  new URLSearchParams().entries(),
  new Intl.Segmenter('en').segment(''),
  new Intl.Segmenter('en').segment('')[Symbol.iterator](),
  ...[() => Buffer.alloc(-1), () => Buffer.from(1 as never)].map(thrownBy),
]

/** Node's errors have their own classes. */
function thrownBy(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}

/** Freezes the objects. Removes values under symbols that Node.js shares with all code, such as `inspect`, because they would expose parts of Node.js. */
export function harden(...roots: readonly unknown[]): void {
  for (const [holder, names] of OVERRIDABLE) for (const name of names.split(' ')) makeOverridable(holder, name)
  const seen = new Set<object>()
  const waiting: unknown[] = [...roots, ...UNNAMED]
  for (let next = waiting.pop(); next !== undefined || waiting.length > 0; next = waiting.pop()) {
    if ((typeof next !== 'object' && typeof next !== 'function') || next === null || seen.has(next)) continue
    seen.add(next)
    waiting.push(Object.getPrototypeOf(next))
    for (const key of Reflect.ownKeys(next)) {
      const property = Object.getOwnPropertyDescriptor(next, key)
      if (typeof key === 'symbol' && Symbol.keyFor(key) !== undefined) removeAll(next, key)
      else waiting.push(...Object.values(property ?? {}))
    }
  }
  for (const object of seen) makeFixed(object)
}

/** Also removes the symbol's plain name, which some objects have too. */
function removeAll(from: object, name: symbol): void {
  const value: unknown = Reflect.get(from, name)
  const isSame = (key: PropertyKey) => Object.getOwnPropertyDescriptor(from, key)?.value === value
  const names = typeof value === 'function' ? Reflect.ownKeys(from).filter(isSame) : [name]
  for (const key of names)
    if (!Reflect.deleteProperty(from, key)) throw new Error(`the cage cannot remove ${String(key)}`)
}

/** Same effect as Object.freeze, which would take the engine off its fast path for arrays when used on Array.prototype or Object.prototype. */
function makeFixed(object: object): void {
  Object.preventExtensions(object)
  for (const key of Reflect.ownKeys(object)) {
    const property = Object.getOwnPropertyDescriptor(object, key)
    if (property?.configurable === true || property?.writable === true)
      Object.defineProperty(object, key, { configurable: false, ...('value' in property && { writable: false }) })
  }
}

function makeOverridable(holder: object, name: string): void {
  const property = Object.getOwnPropertyDescriptor(holder, name)
  if (property === undefined || !('value' in property)) return
  const { value } = property as { readonly value: unknown }
  Object.defineProperty(holder, name, {
    configurable: false,
    enumerable: property.enumerable === true,
    get: () => value,
    set(this: unknown, own: unknown) {
      if (typeof this !== 'object' && typeof this !== 'function') return
      if (this === null || this === holder) throw new TypeError(`${name} cannot be changed for everybody`)
      if (Object.hasOwn(this, name)) (this as Record<string, unknown>)[name] = own
      else Object.defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true })
    },
  })
}
