// Makes a run repeatable and isolated: one moment, one sequence of random numbers, and only the listed parts of this machine and of Node.
import { EventEmitter } from 'node:events'
import { writeSync } from 'node:fs'
import { seededRandom } from '#lib/random.ts'
import { GLOBALS, NODE_PROCESS, keepOnly } from './allowed.ts'
import { builtinsOf, globalsOf, type Builtins } from './builtins.ts'
import { harden } from './harden.ts'
import { MAX_FRAMES, placeFor } from './places.ts'
import { plainConsole } from './shown.ts'
import { virtualTimers } from './timers.ts'

/** Before any package is loaded, so that none can keep a clock. Returns the replacements of Node.js's modules. */
export function freeze(now: number, seed: number): { readonly fleet: Builtins; readonly release: Builtins } {
  const [stdout, stderr] = [printer(1), printer(2)]
  const { version, versions, platform, arch } = process
  const same = {
    argv: Object.freeze(['node', 'fleet/main.ts']),
    env: Object.freeze({}),
    execArgv: Object.freeze([]),
    pid: 1,
    ppid: 0,
    cwd: () => '/',
    stdout,
    stderr,
    emitWarning: () => undefined,
  }
  for (const [name, value] of Object.entries(same)) fix(process, name, value)
  fix(process, 'execPath', 'node')
  for (
    let at: object | null = process;
    at !== null && at !== EventEmitter.prototype;
    at = Object.getPrototypeOf(at) as object | null
  )
    keepOnly(at, NODE_PROCESS)
  const none = () => undefined
  const hrtime = Object.assign(() => [0, 0] as const, { bigint: () => 0n })
  const nextTick = (run: (...args: readonly unknown[]) => unknown, ...args: readonly unknown[]) =>
    queueMicrotask(() => run(...args))
  const shown = { ...same, title: 'node', version, versions, platform, arch, hrtime, on: none, once: none, off: none }
  fix(globalThis, 'process', Object.freeze({ ...shown, nextTick }))
  fix(globalThis, 'console', plainConsole(stdout.write, stderr.write))
  for (const [name, timer] of Object.entries(virtualTimers(setImmediate))) fix(globalThis, name, timer)
  freezeTime(now)
  freezeRandom(seed)
  freezeBuffers()
  const builtins = builtinsOf(process)
  for (const [name, value] of Object.entries(globalsOf(builtins.fleet))) fix(globalThis, name, value)
  return builtins
}

/** After everything that a fleet may import is loaded: nothing of it changes from now on. */
export function seal(builtins: { readonly fleet: Builtins; readonly release: Builtins }, release: string): void {
  keepOnly(globalThis, GLOBALS)
  // A property that Node computes could be set, and then values that the cage makes with it would be the fleet's.
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(globalThis)))
    if (!('value' in property)) fix(globalThis, name, Reflect.get(globalThis, name))
  for (const name of ['createObjectURL', 'revokeObjectURL']) Reflect.deleteProperty(URL, name)
  Reflect.deleteProperty(Date.prototype, 'toTemporalInstant')
  freezeStacks(release)
  harden(globalThis, builtins)
}

/** Writes immediately instead of buffering, so that the other side can count the output and end a flood. */
function printer(fd: number): { readonly write: (text: unknown) => boolean } {
  const write = (text: unknown): boolean => {
    const bytes = Buffer.from(String(text))
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
    return true
  }
  return Object.freeze({ write, end: () => undefined, on: () => undefined, isTTY: false })
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
  freezeFormats(now)
  fix(
    globalThis,
    'performance',
    Object.freeze({ now: () => 0, timeOrigin: now, mark: () => undefined, measure: () => undefined }),
  )
}

/** Without a date argument, formatters use the real time. */
function freezeFormats(now: number): void {
  const { prototype } = Intl.DateTimeFormat
  const format = Object.getOwnPropertyDescriptor(prototype, 'format') as {
    readonly get: (this: Intl.DateTimeFormat) => unknown
  }
  const parts = Object.getOwnPropertyDescriptor(prototype, 'formatToParts')?.value as (date: Date | number) => unknown
  Object.defineProperty(prototype, 'format', {
    configurable: false,
    get(this: Intl.DateTimeFormat) {
      const real = format.get.call(this) as (date: Date | number) => string
      return (date: Date | number = now) => real(date)
    },
  })
  fix(prototype, 'formatToParts', function (this: Intl.DateTimeFormat, date: Date | number = now) {
    return parts.call(this, date)
  })
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

/** Hides stack frames, which lead to internals, and the release's path on this machine. */
function freezeStacks(release: string): void {
  const url = new URL('.', release)
  const places = [url.href, decodeURI(url.pathname)]
  const inRelease = (frame: string): string =>
    places.reduce((text, place) => text.replaceAll(place, 'release:///'), frame)
  const shown = Function.prototype.call.bind(Reflect.get(Error.prototype, 'toString')) as (error: unknown) => string
  fix(Error, 'stackTraceLimit', MAX_FRAMES)
  fix(Error, 'prepareStackTrace', (error: unknown, frames: readonly NodeJS.CallSite[]): string | undefined => {
    const asked = placeFor(error, frames)
    if (asked !== undefined) return asked.place
    let head = 'Error'
    try {
      head = shown(error)
    } catch {
      // Its name or message cannot be read.
    }
    return [head, ...frames.map((frame) => `    at ${inRelease(String(frame))}`)].join('\n')
  })
}

/** Uninitialized memory, and memory shared with Node.js, could contain anything. */
function freezeBuffers(): void {
  for (const name of ['allocUnsafe', 'allocUnsafeSlow']) fix(Buffer, name, (size: number) => Buffer.alloc(size))
  fix(Buffer, 'poolSize', 0)
}

function fix(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true })
}
