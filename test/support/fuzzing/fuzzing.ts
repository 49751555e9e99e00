// Runs an oracle over many hostile inputs, each made from one number, so that a failing one can be reproduced:
//   KUBENODE_TEST_SEED=<seed> KUBENODE_FUZZ_INPUT=<n> bin/with-node vitest run --project fuzz <file>
// A watcher in its own thread prints an input that never finishes, and then ends this process.
import { Worker } from 'node:worker_threads'
import { messageOf } from '#lib/errors.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import { inFull, isFull } from '#test/support/tools/full.ts'
import { testSeed } from '#test/support/tools/seed.ts'

const FULL_INPUTS = 100_000
/** Between two inputs; the slowest takes some 50 ms on a busy machine. */
const HANG_MS = 60_000
/** What all inputs together may add to the peak of this process: those that are accepted are small. */
const MAX_GROWTH_KIB = 768 * 1024

export interface Campaign {
  readonly name: string
  /** Inputs in `npm test`; all of them take a few seconds. */
  readonly quick: number
  /** One input, made from this randomness alone, and what must hold for it. Says in a word what became of it. */
  readonly one: (random: Random) => string | Promise<string>
  /** What must have become of some inputs: a generator that never gets through, or always does, tests nothing. */
  readonly mustSee: readonly string[]
}

/** Time for a campaign: in full the slowest takes half an hour, on a busy machine more. */
export const FUZZ_TIMEOUT_MS = inFull(7_200_000, 120_000)

export async function runCampaign({ name, quick, one, mustSee }: Campaign): Promise<void> {
  const seed = testSeed
  const only = process.env['KUBENODE_FUZZ_INPUT']
  const [from, to] = only === undefined ? [0, isFull ? FULL_INPUTS : quick] : [Number(only), Number(only) + 1]
  const seen: Record<string, number> = {}
  const watched = watchHangs(name, seed)
  const before = process.resourceUsage().maxRSS
  const began = performance.now()
  try {
    for (let n = from; n < to; n++) {
      watched.at(n)
      try {
        const outcome = await one(seededRandom(inputSeed(seed, n)))
        seen[outcome] = (seen[outcome] ?? 0) + 1
      } catch (cause) {
        throw new Error(`${name}: ${replay(seed, n)}: ${messageOf(cause)}`, { cause })
      }
    }
  } finally {
    await watched.stop()
  }
  const grown = process.resourceUsage().maxRSS - before
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  process.stderr.write(
    `${name}: ${to - from} inputs, ${seconds} s, peak +${Math.round(grown / 1024)} MiB, seed ${seed}: ${JSON.stringify(seen)}\n`,
  )
  if (grown > MAX_GROWTH_KIB) throw new Error(`${name}: seed ${seed}: memory grew by ${grown} KiB`)
  const unseen = only === undefined ? mustSee.filter((what) => (seen[what] ?? 0) === 0) : []
  if (unseen.length > 0) throw new Error(`${name}: seed ${seed}: no input came out as ${unseen.join(', ')}`)
}

/** Neighbors must not be alike: mulberry32 of consecutive seeds begins with the same pattern. */
const inputSeed = (seed: number, n: number): number => Math.imul(seed ^ Math.imul(n + 1, 0x9e3779b1), 0x85ebca6b) >>> 0

const replay = (seed: number, n: number): string =>
  `input ${n} (replay: KUBENODE_TEST_SEED=${seed} KUBENODE_FUZZ_INPUT=${n})`

const WATCHER = `
const { workerData: { at, hangMs, text } } = require('node:worker_threads')
const { writeSync } = require('node:fs')
let last = -1
setInterval(() => {
  const n = Atomics.load(at, 0)
  if (n !== last) { last = n; return }
  writeSync(2, text + ' input ' + n + ' has not come to an end in ' + hangMs / 1000 + ' s\\n')
  process.kill(process.pid, 'SIGKILL')
}, hangMs)`

function watchHangs(name: string, seed: number): { at(n: number): void; stop(): Promise<unknown> } {
  const at = new Int32Array(new SharedArrayBuffer(4))
  const text = `${name}: KUBENODE_TEST_SEED=${seed}`
  const worker = new Worker(WATCHER, { eval: true, workerData: { at, hangMs: HANG_MS, text } })
  return { at: (n) => void Atomics.store(at, 0, n), stop: () => worker.terminate() }
}

const STRANGE_BYTES = [0, 1, 0x20, 0x2f, 0x30, 0x7f, 0x80, 0xff]

/** A copy with one to four things wrong: bits, bytes, lengths, cuts, repeats, parts of another good input. */
export function mutatedBytes(random: Random, good: Buffer, others: readonly Buffer[]): Buffer {
  let bytes: Buffer = Buffer.from(good)
  for (let times = 1 + random.below(4); times > 0; times--) bytes = mutatedOnce(random, bytes, others)
  return bytes
}

function mutatedOnce(random: Random, bytes: Buffer, others: readonly Buffer[]): Buffer {
  const at = random.below(bytes.length + 1)
  const length = Math.min(random.below(64), bytes.length - at)
  const without = () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
  const inserted = (part: Uint8Array) => Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)])
  switch (random.below(9)) {
    case 0:
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
      return bytes
    case 1:
      if (at < bytes.length) bytes[at] = random.pick(STRANGE_BYTES)
      return bytes
    case 2:
      return bytes.subarray(0, at)
    case 3:
      return without()
    case 4:
      return inserted(bytes.subarray(at, at + length))
    case 5:
      return inserted(Buffer.from(Array.from({ length: random.below(16) }, () => random.below(256))))
    case 6: {
      const other = random.pick(others)
      return Buffer.concat([bytes.subarray(0, at), other.subarray(random.below(other.length + 1))])
    }
    case 7:
      // A length, most likely.
      if (at + 4 <= bytes.length) bytes.writeUInt32BE(random.pick([0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]), at)
      return bytes
    default:
      if (at < bytes.length) bytes[at] = random.below(256)
      return bytes
  }
}

export const STRANGE_TEXTS: readonly string[] = [
  '',
  ' ',
  'x',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'a/b',
  'a\nb',
  '\r\n::error::x',
  '\u0000',
  '\u202e',
  '\ud800',
  '\u001b[2J',
  '%2e%2e',
  '😀',
  'é',
  'e\u0301',
  'system:masters',
  'kubenode:agents',
  '{{x}}',
  '1e999',
  'x'.repeat(300),
  'x'.repeat(70_000),
]
const STRANGE_NUMBERS = [0, -0, -1, 1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 63, Number.MIN_VALUE]

export const strangeText = (random: Random): string => {
  const text = random.pick(STRANGE_TEXTS)
  return random.below(3) === 0 ? text + random.pick(STRANGE_TEXTS) : text
}

export function strangeValue(random: Random): unknown {
  switch (random.below(8)) {
    case 0:
      return random.pick([null, true, false, [], {}])
    case 1:
      return random.pick(STRANGE_NUMBERS)
    case 2:
      return nested(random, random.pick([3, 40, 70, 300]))
    case 3:
      return Object.fromEntries(Array.from({ length: random.pick([3, 70, 1_500]) }, (_, i) => [`k${i}`, i]))
    case 4:
      return Array.from({ length: random.pick([1, 25, 130, 1_500]) }, () => 'x')
    default:
      return strangeText(random)
  }
}

function nested(random: Random, depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = random.below(2) === 0 ? [value] : { a: value }
  return value
}

type Container = Record<string, unknown>

/** Keys as data, `__proto__` among them. */
function setData(target: Container, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/** A copy with one to three things wrong: a value, a key, a part moved elsewhere. */
export function mutatedJson(random: Random, good: unknown): unknown {
  let root: unknown = structuredClone(good)
  for (let times = 1 + random.below(3); times > 0; times--) {
    const places = placesIn(root)
    if (places.length === 0) return strangeValue(random)
    const { holder, key } = random.pick(places)
    switch (random.below(6)) {
      case 0:
        delete holder[key]
        break
      case 1:
        if (Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]))
        else setData(holder, strangeText(random).slice(0, 80), holder[key])
        break
      case 2: {
        const from = random.pick(places)
        setData(holder, key, structuredClone(from.holder[from.key]))
        break
      }
      case 3:
        if (!Array.isArray(holder)) setData(holder, strangeText(random).slice(0, 400), strangeValue(random))
        break
      default:
        setData(holder, key, strangeValue(random))
    }
    if (random.below(200) === 0) root = strangeValue(random)
  }
  return root
}

/** A thousand are enough to choose from. */
const MAX_PLACES = 1_000

function placesIn(root: unknown): readonly { readonly holder: Container; readonly key: string }[] {
  const places: { holder: Container; key: string }[] = []
  const waiting: unknown[] = [root]
  while (waiting.length > 0 && places.length < MAX_PLACES) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const key of Object.keys(value).slice(0, MAX_PLACES)) {
      places.push({ holder: value as Container, key })
      waiting.push((value as Container)[key])
    }
  }
  return places
}
