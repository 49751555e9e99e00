// Everything beyond its own files that fleet code can reach in its cage. The rest is removed before the code runs, so a newer Node.js adds nothing.

/** The language, and functions that compute without reaching outside, reading the time or distinguishing runs. */
export const GLOBALS: ReadonlySet<string> = new Set(
  `Object Function Array Number Boolean String Symbol BigInt Date Promise RegExp Math JSON Reflect Proxy Intl Iterator
  Map Set WeakMap WeakSet ArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array
  Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array
  Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError
  DisposableStack AsyncDisposableStack Infinity NaN undefined parseFloat parseInt isFinite isNaN
  decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval globalThis global
  Buffer URL URLSearchParams TextEncoder TextDecoder atob btoa structuredClone queueMicrotask
  setTimeout clearTimeout setInterval clearInterval setImmediate clearImmediate
  console crypto performance process constructor Symbol(Symbol.toStringTag)`.split(/\s+/),
)

/** `process` for the fleet: a separate object made by the cage. */
export const FLEET_PROCESS: ReadonlySet<string> = new Set(
  `argv arch cwd emitWarning env execArgv hrtime nextTick off on once pid platform ppid stderr stdout title version versions`.split(
    ' ',
  ),
)

/** Properties of its own `process` that Node.js uses while a fleet runs. Events lead there, so nothing else may stay on it. */
export const NODE_PROCESS: ReadonlySet<string> = new Set(
  `argv arch cwd emitWarning env exitCode execArgv execPath nextTick pid platform ppid stderr stdout version versions
  _events _eventsCount _maxListeners _exiting _fatalException domain constructor
  Symbol(shapeMode) Symbol(kCapture) Symbol(Symbol.toStringTag)
  argv0 features permission`.split(/\s+/),
)

/** The last line above cannot be removed: a name, flags of the build, and questions about permissions. */

/** Properties of import.meta. */
export const IMPORT_META: ReadonlySet<string> = new Set(['dirname', 'filename', 'main', 'resolve', 'url'])

/** Removes every property that is not listed; if one cannot be removed, the render ends before it begins. */
export function keepOnly(target: object, names: ReadonlySet<string>): void {
  for (const key of Reflect.ownKeys(target)) {
    if (names.has(String(key))) continue
    if (!Reflect.deleteProperty(target, key)) throw new Error(`the cage cannot remove ${String(key)}`)
  }
}
