// What the code of a fleet may try from inside its cage, and what comes of it: an error with a place, never a byte from outside.
import { once } from 'node:events'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'
import { bundleCage } from '#install/package/bundle-cage.ts'
import { bundleIn } from '#sync/render/bundle.ts'
import { FLEET_PROCESS, GLOBALS, IMPORT_META, NODE_PROCESS } from '#sync/render/inside/allowed.ts'
import { BUILTIN_NAMES } from '#sync/render/inside/builtins.ts'
import { BUILTIN_EXPORTS } from '#test/support/tools/builtin-exports.ts'
import { CAGE_ENV, CAGE_LEVELS, findCage, userOf, type Cage } from '#sync/render/cage.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { renderCommit, type RenderOptions } from '#sync/render/render.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { isFull } from '#test/support/tools/full.ts'

const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
const CANARY = 'canary-5b1d2f'

/** A repository of one commit that was never written anywhere. */
const holding = (files: Readonly<Record<string, string>>): GitRepository => ({
  name: 'memory',
  resolve: async () => COMMIT,
  commit: async (id) => ({ id, parents: [], time: 1_700_000_000, message: '', author: '' }),
  log: async () => [],
  idAt: async () => COMMIT,
  readTree: async () => new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
})

const HEAD = `import { App, ApiObject, Chart } from 'cdk8s'
const app = new App()
const chart = new Chart(app, 'test')
const leak = (v: unknown) => new ApiObject(chart, 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' }, data: { v: String(v) } })
`

let strong: Cage
let unbuilt: Cage
let weak: Cage
let built = ''
let outside = ''
let server = createServer()
let calls = 0

beforeAll(async () => {
  built = mkdtempSync(join(tmpdir(), 'kubenode-built-'))
  await bundleCage(releaseRoot(), built)
  strong = await findCage('allow', CAGE_LEVELS, bundleIn(built))
  unbuilt = await findCage('allow')
  weak = await findCage(
    'allow',
    CAGE_LEVELS.filter((l) => l.name === 'LimitsOnly'),
  )
  outside = mkdtempSync(join(tmpdir(), 'kubenode-outside-'))
  writeFileSync(join(outside, 'secret.txt'), CANARY)
  writeFileSync(join(outside, 'secret.json'), JSON.stringify({ CANARY }))
  server = createServer((_, response) => {
    calls++
    response.end(CANARY)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.close()
  for (const folder of [outside, built]) rmSync(folder, { recursive: true, force: true })
})

/** For code that ends by itself, however busy the machine is. */
const PATIENCE_MS = 120_000

type Limits = NonNullable<RenderOptions['limits']>

/** The message of the error, or everything that was rendered and printed. */
async function outcome(
  cage: Cage,
  code: string,
  limits: Limits = {},
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const main = `${HEAD}${code}\napp.synth()\n`
  try {
    const { targets, printed } = await renderCommit(COMMIT, {
      repository: holding({ 'fleet/main.ts': main, ...more }),
      renderer: processRenderer(cage),
      limits: { deadlineMs: PATIENCE_MS, ...limits },
    })
    return JSON.stringify([[...targets], printed])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const CAGES = [
  ['the strongest cage of this machine, with built files', () => strong],
  ['the strongest cage, with the sources', () => unbuilt],
  ['the weakest cage', () => weak],
] as const

// The quick run tries the weakest with the attacks of test/attacks/fleet-code.test.ts.
describe.each(isFull ? CAGES : CAGES.slice(0, 1))('%s', (_, cage) => {
  test.each([
    ['an import of node:fs', `import fs from 'node:fs'\nleak(fs.readFileSync('SECRET', 'utf8'))`, 'KN7103'],
    ['an import of child_process', `import { execSync } from 'child_process'\nleak(execSync('cat SECRET'))`, 'KN7103'],
    [
      'an import from outside of the tree',
      `import x from 'file://SECRET.json' with { type: 'json' }\nleak(JSON.stringify(x))`,
      'KN7103',
    ],
    [
      'an import of a path above the tree',
      `import x from '../../../../../../SECRET.json' with { type: 'json' }\nleak(JSON.stringify(x))`,
      'KN7103',
    ],
    ['an import of data as code', `import x from 'data:text/javascript,export default 1'\nleak(x)`, 'KN7103'],
    [
      'an import of a package of the release that is not for fleets',
      `import git from 'isomorphic-git'\nleak(git)`,
      'KN7103',
    ],
    ['an import of our own parts', `import { x } from '#lib/errors.ts'\nleak(x)`, 'KN7103'],
    ['a late import', `const fs = await import('node:' + 'fs')\nleak(fs.readFileSync('SECRET'))`, 'KN7103'],
    ['a builtin by the back door', `leak((process as any).getBuiltinModule('fs').readFileSync('SECRET'))`, 'KN7102'],
    ['a binding of Node', `leak((process as any).binding('fs'))`, 'KN7102'],
    [
      'require from the main module',
      `leak((process as any).mainModule.require('fs').readFileSync('SECRET'))`,
      'KN7102',
    ],
    [
      'an import by code made from text',
      `leak((await new Function('return import("node:fs")')()).readFileSync('SECRET'))`,
      'KN7103',
    ],
    ['an import by evaluated code', `leak((await (0, eval)('import("node:fs")')).readFileSync('SECRET'))`, 'KN7103'],
    ['the constructor of a stream', `leak((process.stdout as any).constructor === Object)`, '"data":{"v":"true"}'],
    ['the network', `leak(await (await fetch('http://127.0.0.1:PORT/')).text())`, 'KN7102'],
    ['a throw', `throw new Error('no')`, 'KN7102'],
    ['a throw of something that is no error', `throw { toString: () => 'strange' }`, 'KN7102'],
    [
      'a promise that is rejected and not awaited',
      `void Promise.reject(new Error('late')); await new Promise((r) => setTimeout(r, 1000))`,
      'KN7102',
    ],
    ['a promise that nothing fulfils', `await new Promise(() => undefined)`, 'KN7106'],
    ['process.exit', `process.exit(0)`, 'KN7102'],
    ['process.abort', `process.abort()`, 'KN7102'],
    ['code that does not parse', `const x: = 1`, 'KN7102'],
  ])('%s', async (_name, code, wanted) => {
    const { port } = server.address() as AddressInfo
    const seen = await outcome(
      cage(),
      code.replaceAll('SECRET', join(outside, 'secret.txt')).replaceAll('PORT', String(port)),
    )
    expect(seen).toContain(wanted)
    expect(seen).not.toContain(CANARY)
    expect(calls).toBe(0)
  })

  test('an endless loop ends at the deadline', async () => {
    expect(await outcome(cage(), 'for (;;);', { deadlineMs: 1_500 })).toContain('KN7104')
  })

  test('endless microtasks end at the deadline', async () => {
    const code = 'const again = (): Promise<void> => Promise.resolve().then(again)\nawait again()'
    expect(await outcome(cage(), code, { deadlineMs: 1_500 })).toContain('KN7104')
  })

  test('gigabytes on standard output end the run', async () => {
    expect(await outcome(cage(), `for (;;) console.log('x'.repeat(1e6))`)).toContain('KN7105')
  })

  test('more objects than the answer may hold end the run', async () => {
    const code = `for (let i = 0; i < 50; i++) new ApiObject(chart, 'o' + i, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' + i }, data: { v: 'x'.repeat(1e5) } })`
    expect(await outcome(cage(), code, { maxAnswerBytes: 1_000_000 })).toContain('KN7114')
  })

  test('memory runs out inside, not outside', async () => {
    const code = `const all: unknown[] = []\nfor (;;) all.push(new Uint8Array(64 * 1024 * 1024).fill(1))`
    expect(await outcome(cage(), code)).toMatch(/KN7114|KN7106|KN7102/)
  })

  test('our environment is not there, and nothing tells one run from another', async () => {
    process.env['KUBENODE_CANARY'] = CANARY
    const code = `leak(JSON.stringify([process.env, process.argv, process.pid, process.cwd(), Date.now(), new Date().toISOString(), Math.random(), crypto.randomUUID(), performance.now(), process.hrtime(), import.meta.url, new Error('x').stack]))`
    const [once, again] = [await outcome(cage(), code), await outcome(cage(), code)]
    delete process.env['KUBENODE_CANARY']
    expect(once).toContain('2023-11-14T22:13:20.000Z')
    expect(once).not.toContain(CANARY)
    expect(again).toBe(once)
  })

  const WALK = `const walk = (o: object | null): string[] => o === null || o === Object.prototype ? [] : [...Reflect.ownKeys(o).map(String), ...walk(Object.getPrototypeOf(o))]\n`
  const walked = async (code: string): Promise<readonly string[]> => {
    const seen = await outcome(cage(), `${WALK}${code}`)
    return (/"v":"names ([^"]*)"/.exec(seen)?.[1] ?? `nothing: ${seen}`).split(' ')
  }

  test.each([
    ['process', 'process', FLEET_PROCESS],
    ['globalThis', 'globalThis', GLOBALS],
    ['import.meta', 'import.meta', IMPORT_META],
  ])('S28 %s holds what is listed, own and inherited, and nothing else', async (_name, object, listed) => {
    const names = await walked(`leak('names ' + walk(${object}).join(' '))`)
    expect(names).not.toEqual([''])
    expect(names[0]).not.toBe('nothing:')
    expect(names.filter((name) => !listed.has(name))).toEqual([])
  })

  test('S28 the builtins that a fleet may import export what was read when this list was made', async () => {
    const code = `const all: string[] = []
for (const name of ${JSON.stringify(BUILTIN_NAMES)}) all.push(...Object.keys(await import('node:' + name)).map((k) => name + '.' + k))
leak('names ' + all.join(' '))`
    const names = await walked(code)
    expect(names.length).toBeGreaterThan(50)
    expect(names.filter((name) => !BUILTIN_EXPORTS.has(name))).toEqual([])
  })

  test('the present time is nowhere', async () => {
    const code = `leak(JSON.stringify([new Intl.DateTimeFormat('en').format(), new Intl.DateTimeFormat('en').formatToParts().length, new Date().toLocaleDateString('en'), Date(), typeof (globalThis as any).Temporal]))`
    const seen = await outcome(cage(), code)
    expect(seen).toContain('11/14/2023')
    expect(seen).toContain('undefined')
    expect(seen).not.toMatch(/202[4-9]|20[3-9]\d/)
  })

  test('a prototype that was polluted stays inside, and __proto__ as a key is refused', async () => {
    const pollute = `Object.defineProperty(Object.prototype, 'polluted', { value: 1, enumerable: true, configurable: true })\nleak(1)`
    await outcome(cage(), pollute)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    const key = `;(leak(1) as any).toJson = () => JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"__proto__":{"a":"b"}}}')`
    expect(await outcome(cage(), key)).toContain('KN7107')
  })

  test('an error names the file and the line of the fleet', async () => {
    const files = {
      'fleet/sub/part.ts': `export const x = 1\n\nexport function fail(): never {\n  throw new TypeError('broken')\n}\n`,
    }
    const seen = await outcome(cage(), `const { fail } = await import('./sub/part.ts')\nfail()`, {}, files)
    expect(seen).toContain('at fleet/sub/part.ts:4:9: broken')
  })
})

test('the strongest cage shows nothing of this machine', async ({ skip }) => {
  skip(strong.isWeak, 'this machine gives no namespaces')
  // Past all import rules, as if a hole in Node had been found: the room itself holds.
  const { file, args, cwd, cleanUp } = strong.command(5)
  const look = `const fs = require('fs'); const r = {}; for (const p of ['/', '/etc', '/proc', '/root', '/tmp', '/home']) { try { r[p] = fs.readdirSync(p) } catch (e) { r[p] = e.code } } try { fs.writeFileSync('/release/package.json', 'x') } catch (e) { r.write = e.code } r.uid = process.getuid(); r.net = Object.keys(require('os').networkInterfaces()); console.log(JSON.stringify(r))`
  const without = args.slice(0, -1).filter((a) => !a.startsWith('--permission') && !a.startsWith('--allow-'))
  const { stdout } = spawnSync(file, [...without, '-e', look], {
    cwd,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    encoding: 'utf8',
  })
  cleanUp()
  const seen = JSON.parse(stdout) as Record<string, unknown>
  expect(seen).toMatchObject({
    '/etc': 'ENOENT',
    '/proc': 'ENOENT',
    '/root': 'ENOENT',
    '/tmp': 'ENOENT',
    '/home': 'ENOENT',
    write: 'EROFS',
    net: [],
  })
  expect(seen['/']).toEqual(expect.not.arrayContaining(['etc', 'work', 'var']))
  expect(seen['uid']).not.toBe(0)
  expect(existsSync(cwd)).toBe(false)
})

test('a program whose files are for itself alone finds the same cage', () => {
  const module = JSON.stringify(join(import.meta.dirname, '../../src/sync/render/cage.ts'))
  const code = `const { findCage } = await import(${module})\nconsole.log((await findCage('allow')).level.name)`
  const node = [process.execPath, '--input-type=module', '-e', code]
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', 'umask 077 && exec "$@"', 'sh', ...node], {
    encoding: 'utf8',
    cwd: releaseRoot(),
  })
  expect([stderr, stdout.trim()]).toEqual(['', unbuilt.level.name])
})

test('S28 in the weak cage, root has become another user without groups', ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root can become somebody else')
  const { file, args, cwd, cleanUp, ...as } = weak.command(5)
  const look =
    'console.log(JSON.stringify([process.getuid(), process.geteuid(), process.getgid(), process.getgroups()]))'
  const { stdout } = spawnSync(file, [...args.slice(0, -1), '-e', look], {
    cwd,
    ...userOf(as),
    env: CAGE_ENV,
    encoding: 'utf8',
  })
  cleanUp()
  const { uid = 0 } = as
  expect(uid).toBeGreaterThan(100_000)
  expect(JSON.parse(stdout)).toEqual([uid, uid, uid, [uid]])
})

/** What package.json exports to fleets. */
function publicModules(): readonly string[] {
  const root = join(import.meta.dirname, '../..')
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string>>
  }
  return Object.entries(exports).flatMap(([name, file]) => {
    const [before = '', after] = file.split('*')
    if (name === './package.json') return []
    if (after === undefined) return [name.replace('.', 'kubenode')]
    const kinds = readdirSync(join(root, before)).filter((found) => found.endsWith(after) && !found.includes('.test.'))
    return kinds.map((found) => `kubenode/${before.split('/').at(-2)}/${found.slice(0, -after.length)}`)
  })
}

test('S28 packages and usual code work in objects that cannot be changed', async () => {
  const names = publicModules().map((name) => `'${name}'`)
  expect(names.length).toBeGreaterThan(20)
  const code = `import { Deployment } from 'cdk8s-plus-27'
class Wrong extends Error { constructor(m: string) { super(m); this.name = 'Wrong'; this.message = 'own ' + m } }
function Old(this: object) {}
Old.prototype.constructor = Old
Old.prototype.toString = () => 'old'
const own: any = { valueOf: 1 }
own.toString = () => 'own'
own.hasOwnProperty = 2
own.constructor = 3
const list: any = [1]
list.toString = () => 'list'
new Deployment(chart, 'd', { containers: [{ image: 'plus' }] })
for (const name of [${names.join(', ')}]) await import(name)
leak([String(new Wrong('x')), String(new (Old as any)()), String(own), own.constructor, String(list)].join())`
  const seen = await outcome(strong, code)
  expect(seen).toContain('Wrong: own x,old,own,3,list')
  expect(seen).toContain('"image":"plus"')
})

test("S28 Node's own process holds nothing that reaches outside, should something give it away", () => {
  const freeze = join(import.meta.dirname, '../../src/sync/render/inside/freeze.ts')
  const code = `import { EventEmitter } from 'node:events'
const real = process
const { freeze } = await import(${JSON.stringify(freeze)})
freeze(0, 1)
const names = []
for (let at = real; at !== null && at !== EventEmitter.prototype; at = Object.getPrototypeOf(at)) names.push(...Reflect.ownKeys(at).map(String))
console.log(names.join(' '))`
  const { stdout } = spawnSync(
    process.execPath,
    ['--permission', '--allow-fs-read=*', '--input-type=module', '-e', code],
    {
      encoding: 'utf8',
    },
  )
  const names = stdout.trim().split(' ')
  expect(names).toContain('_fatalException')
  expect(names.filter((name) => !NODE_PROCESS.has(name))).toEqual([])
  const ways =
    `_kill kill _debugProcess _debugEnd setegid setgroups initgroups setuid reallyExit exit abort binding _linkedBinding dlopen
    _startProfilerIdleNotifier _getActiveHandles getBuiltinModule openStdin stdin execve report mainModule`.split(/\s+/)
  expect(names.filter((name) => ways.includes(name))).toEqual([])
})

test('a weak cage is refused where it is not allowed', async () => {
  const limitsOnly = CAGE_LEVELS.filter((l) => l.name === 'LimitsOnly')
  await expect(findCage('refuse', limitsOnly)).rejects.toMatchObject({ code: 'KN7110' })
  expect((await findCage('allow', limitsOnly)).level.layers).not.toContain('namespaces')
})

test('what is different the second time is refused when asked for', async () => {
  const repository = holding({ 'fleet/main.ts': `${HEAD}leak('same')\napp.synth()` })
  const { targets } = await renderCommit(COMMIT, { repository, renderer: processRenderer(strong), twice: true })
  expect([...targets.keys()]).toEqual(['test'])
})

test('F17 a program that is killed while it renders leaves a folder until the next one starts, and no longer', async () => {
  const temporary = mkdtempSync(join(tmpdir(), 'kubenode-tmp-'))
  const cages = join(import.meta.dirname, '../../src/sync/render')
  const code = `import { findCage } from ${JSON.stringify(join(cages, 'cage.ts'))}
import { runCaged } from ${JSON.stringify(join(cages, 'run-caged.ts'))}
const cage = await findCage('allow')
if (process.argv[1] === 'once') process.exit()
void runCaged(cage, { files: { 'fleet/main.ts': 'for (;;);' }, entry: 'fleet/main.ts', release: '', now: 0, seed: 1 })
console.log('rendering')`
  const start = (...args: readonly string[]) =>
    spawn(process.execPath, ['--input-type=module', '-e', code, ...args], {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  try {
    const [killed, living] = [start('render'), start('render')]
    await Promise.all([once(killed.stdout, 'data'), once(living.stdout, 'data')])
    expect(readdirSync(temporary).length).toBe(2)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(readdirSync(temporary).length).toBe(2)
    await once(start('once'), 'exit')
    const left = readdirSync(temporary)
    expect([left.length, left[0]?.includes(`-${living.pid}-`)]).toEqual([1, true])
    living.kill('SIGKILL')
    await once(living, 'exit')
    await once(start('once'), 'exit')
    expect(readdirSync(temporary)).toEqual([])
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
})
