// Makes a run repeatable: one moment, one sequence of random numbers, and no way to ask the machine for either.
import { seededRandom } from '#lib/random.ts'

/** What reaches outside, tells runs apart, or hands out builtins past the import rules. */
const GLOBALS = [
  'fetch',
  'WebSocket',
  'EventSource',
  'XMLHttpRequest',
  'Request',
  'Response',
  'navigator',
  'BroadcastChannel',
  'MessageChannel',
  'Worker',
  'localStorage',
  'sessionStorage',
  'caches',
  'WebAssembly',
  'SharedArrayBuffer',
  'Atomics',
  'FinalizationRegistry',
  'WeakRef',
]

const PROCESS = [
  'getBuiltinModule',
  'binding',
  '_linkedBinding',
  'dlopen',
  'kill',
  'chdir',
  'setuid',
  'setgid',
  'report',
  'loadEnvFile',
  'memoryUsage',
  'cpuUsage',
  'resourceUsage',
  'uptime',
  'mainModule',
]

export function freeze(now: number, seed: number): void {
  freezeTime(now)
  freezeRandom(seed)
  for (const name of GLOBALS) fix(globalThis, name, undefined)
  for (const name of PROCESS) fix(process, name, undefined)
  fix(process, 'env', Object.freeze({}))
  fix(process, 'argv', Object.freeze(['node', 'fleet/main.ts']))
  fix(process, 'execArgv', Object.freeze([]))
  fix(process, 'execPath', 'node')
  fix(process, 'pid', 1)
  fix(process, 'ppid', 0)
  fix(process, 'cwd', () => '/')
}

function freezeTime(now: number): void {
  const Real = Date
  const Frozen = function (this: unknown, ...args: readonly unknown[]): Date | string {
    if (new.target === undefined) return new Real(now).toString()
    const date = Reflect.construct(Real, args.length === 0 ? [now] : args, new.target) as Date
    return date
  }
  Frozen.prototype = Real.prototype
  Object.assign(Frozen, { UTC: Real.UTC, parse: Real.parse, now: () => now })
  fix(Real.prototype, 'constructor', Frozen)
  fix(globalThis, 'Date', Frozen)
  fix(
    globalThis,
    'performance',
    Object.freeze({ now: () => 0, timeOrigin: now, mark: () => undefined, measure: () => undefined }),
  )
  const hrtime = Object.assign(() => [0, 0] as const, { bigint: () => 0n })
  fix(process, 'hrtime', hrtime)
}

function freezeRandom(seed: number): void {
  const random = seededRandom(seed)
  fix(Math, 'random', () => random.next())
  const getRandomValues = <T extends ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    for (let i = 0; i < bytes.length; i++) bytes[i] = random.below(256)
    return view
  }
  const randomUUID = (): string => {
    const b = getRandomValues(new Uint8Array(16))
    const hex = Buffer.from([
      ...b.slice(0, 6),
      ((b[6] ?? 0) & 0x0f) | 0x40,
      b[7] ?? 0,
      ((b[8] ?? 0) & 0x3f) | 0x80,
      ...b.slice(9),
    ]).toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }
  fix(globalThis, 'crypto', Object.freeze({ getRandomValues, randomUUID }))
}

function fix(target: object, name: string, value: unknown): void {
  try {
    Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true })
  } catch {
    // Already fixed by Node itself: nothing of ours depends on changing it.
  }
}
