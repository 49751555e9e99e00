// The attacker's code runs as the code of a fleet: it tries to reach what Node keeps inside, to tell one run from another, and to be believed by us.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll } from 'vitest'
import { createValidator } from '#api/validate.ts'
import { messageOf } from '#lib/errors.ts'
import { atOnce } from '#lib/slices.ts'
import { answered } from '#sync/render/answered.ts'
import { checkingRendered } from '#sync/render/rendered.ts'
import { type Answer, type Attempt, tryHere } from '#test/support/worlds/attack-world.ts'
import { isFull } from '#test/support/tools/full.ts'
import { cagedCode, type Files, type Strength } from '#test/support/faults/caged-code.ts'

const SECRET = 'secret-of-a-database'
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-fleet-code-'))
  chmodSync(folder, 0o755)
  const database = new DatabaseSync(join(folder, 'x.db'))
  database.exec(`create table t (v text); insert into t values ('${SECRET}')`)
  database.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Finds the symbol of that name on an object or what it inherits. */
const SYMBOLS = `const symbols = (o: any): symbol[] => o === null ? [] : [...Object.getOwnPropertySymbols(o), ...symbols(Object.getPrototypeOf(o))]
const named = (o: any, n: string) => symbols(o).find((s) => String(s).includes(n))!
const report = (what: unknown) => { throw new Error('GOT ' + String(what)) }
`

/** What the weakest cage refuses is refused by code that the strongest has too. */
const CAGES: readonly Strength[] = isFull ? ['weakest', 'strongest'] : ['weakest']

const inBoth = (name: string, text: string, refused: RegExp, more: Files = {}): readonly Attempt<void>[] =>
  CAGES.map((strength) => ({
    name: `${name} (${strength} cage)`,
    attempt: () => cagedCode(`${SYMBOLS}${text.replaceAll('FOLDER', folder)}`, strength, more),
    refused,
  }))

/** Node's own Module by way of whatever Node makes for an object that says which class it is; then everything by its require. */
const moduleBy = (make: string) => `
let found: any
${make}
found.filename = decodeURI(import.meta.resolve('cdk8s').replace('file://', ''))
found.paths = []
const out: string[] = []
try { out.push('time ' + found.require('vm').runInNewContext('Date.now()')) } catch (e) { out.push(String(e)) }
try { out.push(JSON.stringify(new (found.require('node:sqlite').DatabaseSync)('FOLDER/x.db').prepare('select * from t').all())) } catch (e) { out.push(String(e)) }
report(out)
// 'cdk8s'`

const BY_TRANSFER = moduleBy(`import * as util from 'node:util'
const signal: any = (util as any).transferableAbortController().signal
signal[named(signal, 'messaging_transfer_symbol')] = () => ({ data: {}, deserializeInfo: 'module:Module' })
;(Object.prototype as any)[named(signal, 'messaging_deserialize_symbol')] = function () { found ??= this }
Object.defineProperty(Object.prototype, 'id', { configurable: true, set(v) { if (this.require) found ??= this } })
try { (structuredClone as any)(signal, { transfer: [signal] }) } catch {}`)

const BY_ERROR = moduleBy(`let thrown: any
try { atob('*') } catch (e) { thrown = e }
Object.defineProperty(thrown, named(thrown, 'messaging_clone_symbol'), { value: () => ({ data: {}, deserializeInfo: 'module:Module' }) })
;(Object.prototype as any)[named(thrown, 'messaging_deserialize_symbol')] = function () { found ??= this }
Object.defineProperty(Object.prototype, 'id', { configurable: true, set(v) { if (this.require) found ??= this } })
try { structuredClone(thrown) } catch {}`)

/** Neither attempt succeeded, whatever stopped it. */
const NOTHING = /"ok":false(?!.*(GOT time|secret-of))/s

const ESCAPES: readonly Attempt<void>[] = [
  ...inBoth('S28 its code has a signal transferred as a Module of Node', BY_TRANSFER, NOTHING),
  ...inBoth('S28 its code has an error cloned as a Module of Node', BY_ERROR, NOTHING),
  ...inBoth(
    'S28 a setter on what everything inherits sees what Node makes',
    `Object.defineProperty(Object.prototype, 'id', { set() { report('set') } })`,
    /not extensible/,
  ),
  ...inBoth(
    'S28 its code changes what values inherit',
    `const all: any[] = [{}, () => {}, [], Promise.resolve(), new Map(), /a/, new Error(), 'a', new Uint8Array(), Buffer.alloc(0), new URL('a:b'), new Date(), 1n, Symbol(), async () => {}, function* () {}, async function* () {}, (function* () {})(), (async function* () {})(), [].values(), new Map().entries(), 'a'.matchAll(/a/g), [].values().map((x) => x), new URLSearchParams('a=b').entries(), new Intl.Segmenter('en').segment('a'), new Intl.Segmenter('en').segment('a')[Symbol.iterator](), ...[() => Buffer.alloc(-1), () => (Buffer as any).from(1)].map((act) => { try { return act() } catch (e) { return e } }), new TextDecoder(), new Intl.DateTimeFormat('en'), process, console, Math, JSON, globalThis]
const changed: string[] = []
for (const value of all) for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
  if (typeof at === 'symbol' || Object.isFrozen(at)) continue
  if (at !== value || [process, console, Math, JSON, globalThis].includes(value)) changed.push(Object.prototype.toString.call(value))
}
report(changed)`,
    /GOT (\[object (Async)?Generator\],?)*"/,
  ),
  ...inBoth(
    'S28 its code replaces a global',
    `;(globalThis as any).JSON = { stringify: () => '{"ok":true}' }`,
    /read only/,
  ),
  ...inBoth(
    'S28 its code is handed the frames of Node and of us',
    `;(Error as any).prepareStackTrace = (_: unknown, frames: unknown) => report(frames)`,
    /read only/,
  ),
  ...inBoth('S28 its code asks who calls it', `report(new Function('return arguments.callee.caller')())`, /GOT null/),
  ...inBoth(
    'S28 its code imports other modules of Node',
    `const names = 'events string_decoder async_hooks diagnostics_channel stream timers module v8 inspector perf_hooks test sqlite ffi wasi sea process worker_threads util/types sys vm fs os crypto zlib repl tty dgram http2 trace_events'.split(' ')
const got: string[] = []
for (const name of [...names, ...names.map((n) => 'node:' + n), 'internal/test/binding', 'node:internal/util', 'builtin:///fs?import', 'release:///cdk8s-plus-27', 'file:///release/src/sync/render/inside/main.ts', 'file:///release/built/main.mjs', 'FOLDER/x.js'])
  await import(name).then(() => got.push(name), (e) => { if (!String(e).includes('may not be imported by a fleet')) got.push(name + String(e)) })
report(JSON.stringify(got))`,
    /GOT \[\]/,
  ),
  ...inBoth(
    'S28 its code imports a name of the release that no file spells out',
    `report(await import(['cdk8s', 'plus', '27'].join('-')))`,
    /write the name cdk8s-plus-27 out/,
  ),
  ...inBoth(
    'S28 its code imports a package as something else',
    `report(await import('cdk8s', { with: { type: 'json' } }))`,
    /"ok":false(?!.*GOT)/s,
  ),
  ...inBoth(
    'S28 its code imports files of the release by their address',
    `report(await import(import.meta.resolve('cdk8s') + '/../../src/sync/render/inside/main.ts')) // 'cdk8s'`,
    /may not be imported|has no file|cannot find|cannot be loaded/,
  ),
  ...inBoth(
    'S28 its code names a file of the release as that of eval',
    `report(await (0, eval)('import("node:vm")\\n//# sourceURL=file:///release/src/sync/render/inside/main.ts'))`,
    /may not be imported by a fleet/,
  ),
  ...inBoth(
    'S28 its code uses what Node has besides the language',
    `const names = 'fetch WebAssembly SharedArrayBuffer Atomics Worker MessageChannel AbortController EventTarget BroadcastChannel Blob WeakRef FinalizationRegistry Temporal navigator localStorage gc require module CompressionStream ReadableStream DOMException ShadowRealm WebSocket'.split(' ')
const absent: [any, string][] = [...names.map((n): [any, string] => [globalThis, n]), ...'getBuiltinModule binding permission mainModule memoryUsage cpuUsage uptime reallyExit _events domain constructor.prototype'.split(' ').map((n): [any, string] => [process, n]), [crypto, 'subtle'], [URL, 'createObjectURL'], [Date.prototype, 'toTemporalInstant'], [console, '_stdout'], [console, 'Console'], [Buffer, 'Blob'], [performance, 'eventLoopUtilization']]
report(JSON.stringify(absent.filter(([o, n]) => o[n] !== undefined).map(([, n]) => n)))`,
    /GOT \[\]/,
  ),
  ...inBoth(
    'S28 its code finds the text of others in the memory of its Buffers',
    `const all = [Buffer.from('x'), Buffer.concat([Buffer.from('a'), Buffer.from('b')]), Buffer.from([1]), Buffer.from(Buffer.from('a')), Buffer.from('YQ==', 'base64'), Buffer.allocUnsafe(3), Buffer.from(new Uint8Array([1])), Buffer.from(JSON.parse(JSON.stringify(Buffer.from('q')))), Buffer.from('abc').slice(0, 1)]
report(all.map((b) => b.buffer.byteLength - b.length).join())`,
    /GOT 0,0,0,0,0,0,0,0,2/,
  ),
  ...inBoth(
    'S28 its code sees the handle behind a decoder',
    `report(symbols(new TextDecoder()).filter((s) => s !== Symbol.toStringTag).length)`,
    /GOT 0/,
  ),
  ...inBoth(
    "S28 its code gets Node's own inspect by an object that shows itself",
    `import { inspect } from 'node:util'
inspect({ [Symbol.for('nodejs.util.inspect.custom')]: (...all: unknown[]) => report(all) })
console.log('%o', { [Symbol.for('nodejs.util.inspect.custom')]: (...all: unknown[]) => report(all) })
report('nothing')`,
    /GOT nothing/,
  ),
  ...inBoth(
    "S28 its code gets Node's own inspect by what Buffers and URLs show of themselves",
    `const custom = Symbol.for('nodejs.util.inspect.custom')
const shows = { [custom]: (...all: any[]) => report(all[2].name) }
const url: any = Object.setPrototypeOf(new URL('a:b'), Object.create(URL.prototype, { searchParams: { value: shows } }))
const all: [any, any][] = [[Buffer, Object.assign(Buffer.from('a'), { shows })], [URL, url]]
const tried = ([{ prototype }, it]: [any, any]) => [custom, 'inspect'].map((n) => prototype[n]?.call(it, 2, { customInspect: true, showHidden: true }))
report(all.flatMap(tried).filter((x) => x !== undefined).length)`,
    /GOT 0/,
  ),
  ...inBoth(
    'S28 its code finds methods under the symbols that Node shares with everybody',
    `import * as buffer from 'node:buffer'
import * as util from 'node:util'
const seen = new Set<object>()
const todo: any[] = [globalThis, buffer, util, new URLSearchParams('a=b').entries()]
const shared = new Set<string>()
for (let o = todo.pop(); o !== undefined || todo.length > 0; o = todo.pop()) {
  if ((typeof o !== 'object' && typeof o !== 'function') || o === null || seen.has(o)) continue
  seen.add(o)
  todo.push(Object.getPrototypeOf(o))
  for (const k of Reflect.ownKeys(o)) {
    if (typeof k === 'symbol' && Symbol.keyFor(k) !== undefined) shared.add(String(k))
    todo.push(...Object.values(Object.getOwnPropertyDescriptor(o, k)!))
  }
}
report(seen.size > 500 ? [...shared] : 'too few')`,
    /GOT "/,
  ),
  ...inBoth(
    'S28 its code makes the Buffer that its answer is written with, and so the answer',
    `;(globalThis as any).Buffer = { from: () => new Uint8Array([...'{"ok":true,"clusters":{"a":[1],"a":[]}}'].map((c) => c.charCodeAt(0))) }
throw new Error('x')`,
    /read only/,
  ),
  ...inBoth(
    'S28 its code throws an error that throws when it is looked at',
    `const hostile: any = new Error('x')
for (const name of ['stack', 'message']) Object.defineProperty(hostile, name, { get() { throw hostile } })
throw hostile`,
    /"kind":"Thrown","message":"threw something that cannot be shown"/,
  ),
  ...inBoth(
    'S28 its code throws an error whose message is none',
    `throw Object.assign(new Error('x'), { stack: {}, message: { slice: () => ({ kind: 'Import' }) } })`,
    /"message":"\[object Object\]"/,
  ),
]

/** Both runs alike, and without the present. */
const alike = (name: string, text: string, more: RegExp = /^/, cages = CAGES): readonly Attempt<void>[] =>
  cages.map((strength) => ({
    name: `${name} (${strength} cage)`,
    attempt: async (): Promise<Answer> => {
      const run = () => cagedCode(`${SYMBOLS}${text}`, strength)
      const [first, second] = [await run(), await run()]
      const isPresent = /\b20[2-9]\d\b|\b1[7-9]\d{11}\b/.test(first.text)
      const isLike = first.text === second.text && more.test(first.text) && first.text.includes('GOT')
      return { status: 0, text: isLike && !isPresent ? 'alike' : `${first.text}\n${second.text}` }
    },
    refused: /alike/,
  }))

const CLOCKS: readonly Attempt<void>[] = [
  ...alike(
    'S28 its code reads every clock that it finds',
    `report(JSON.stringify([Date.now(), new Date(), Date(), new (class extends Date {})(), Reflect.construct(Date, []), performance.now(), performance.timeOrigin, process.hrtime(), String(process.hrtime.bigint()), new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'full' }).format(), new Intl.DateTimeFormat('en').formatToParts(), new Date().toLocaleString(), structuredClone(new Date()), new Date(new Date().constructor.call(0) as any)]))`,
    /^/,
    ['weakest', 'strongest'],
  ),
  ...alike(
    'S28 its code counts how much it does until a timer fires',
    `let turns = 0, isOver = false
setTimeout(() => { isOver = true }, 5)
while (!isOver) { turns++; await new Promise((r) => setImmediate(r)) ; if (turns > 1e5) break }
report(turns)`,
  ),
  ...alike(
    'S28 its code reads the time from a timer',
    `const timer: any = setTimeout(() => undefined, 5)
report(JSON.stringify([Object.keys(timer), symbols(timer).map(String), Number(timer)]))`,
  ),
  ...alike(
    'S28 its code draws random numbers',
    `report([Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(8))])`,
  ),
  ...alike(
    'S28 its code watches the collector through weak collections',
    `import { inspect, format } from 'node:util'
const weak = new WeakSet<object>()
for (let i = 0; i < 200_000; i++) weak.add({ i })
const show = inspect as (...all: unknown[]) => string
report([show(weak, { showHidden: true }).length, show(weak, true).length, format('%o', weak).length])`,
  ),
  ...alike(
    'S28 its code counts how deep the stack is',
    `let depth = 0
const deeper = (n: number): number => { depth++; return deeper(n + 1) + Math.sqrt(n) }
const depths: number[] = []
for (let i = 0; i < 20; i++) { depth = 0; try { deeper(0) } catch {} depths.push(depth) }
report(depths)`,
  ),
  ...alike(
    'S28 its code reads stacks and addresses',
    `import { App } from 'cdk8s'
let stack = ''
try { new (App as any)({ get outdir() { throw new Error('x') } }) } catch (e) { stack = (e as Error).stack ?? '' }
report([stack, import.meta.url, import.meta.resolve('cdk8s'), process.cwd(), process.argv, process.title, process.pid])`,
    /^(?!.*(file:|\(\/)).*release:\/\/\/cdk8s/s,
  ),
  ...alike(
    'S28 its code runs promises, modules and timers against each other',
    `const order: string[] = []
const later = (n: string) => () => void order.push(n)
setTimeout(later('t2'), 2); setTimeout(later('t1'), 1); setImmediate(later('i')); process.nextTick(later('n')); queueMicrotask(later('q'))
await Promise.all(['./a.json', './b.json'].map((f) => import(f).then(later(f), later('no ' + f))))
await new Promise((r) => setTimeout(r, 10_000))
report(order)`,
  ),
]

/** What our side makes of an answer of these lines. */
const believed = (lines: readonly string[]) => async (): Promise<Answer> => {
  try {
    const chunks = [Buffer.from([...lines, `{"end":${lines.length}}`, ''].join('\n'))]
    const { answer } = answered({ kind: 'Answered', chunks, printed: '' }, 'render')
    const targets = atOnce(checkingRendered(answer.clusters, createValidator()))
    return { status: 0, text: `believed ${[...targets.keys()].join()}` }
  } catch (e) {
    return { status: 0, text: messageOf(e) }
  }
}

const ANSWERS: readonly Attempt<void>[] = [
  { name: 'S28 a cluster that is called __proto__', attempt: believed(['{"target":"__proto__"}']), refused: /KN7107/ },
  {
    name: 'S28 a cluster twice, one for the reviewers and one for sync',
    attempt: believed(['{"target":"a"}', '{"object":{"kind":"x"}}', '{"target":"a"}']),
    refused: /KN7105/,
  },
  {
    name: 'S28 clusters without end',
    attempt: believed(Array.from({ length: 2_000 }, (_, i) => `{"target":"c${i}"}`)),
    refused: /KN7107/,
  },
  { name: 'S28 a list for a line', attempt: believed(['[[]]']), refused: /KN7105/ },
  { name: 'S28 an object of no cluster', attempt: believed(['{"object":{"length":1}}']), refused: /KN7105/ },
  {
    name: 'S24 a line of a million keys, which would be parsed in one go',
    attempt: believed(['{"target":"a"}', `{"object":{${Array.from({ length: 1e6 }, (_, i) => `"${i}":1`).join()}}}`]),
    refused: /KN7114/,
  },
  {
    name: 'S28 an object too deep to walk',
    attempt: believed(['{"target":"a"}', `{"object":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`]),
    refused: /KN7107/,
  },
]

tryHere('the code of a fleet, on its way out', ESCAPES)
tryHere('the code of a fleet, by what it answers', ANSWERS)
tryHere('the code of a fleet, asking for the time', CLOCKS)
