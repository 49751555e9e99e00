// The built files of a cage: a render with them gives the bytes of a render from the sources, and damaged ones are never loaded.
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'
import { bundleCage } from '#install/package/bundle-cage.ts'
import { BUNDLE_INDEX, BUNDLE_MAIN, bundleIn } from '#sync/render/bundle.ts'
import { CAGE_LEVELS, findCage, type Cage } from '#sync/render/cage.ts'
import { folderFiles } from '#sync/render/folder-files.ts'
import { runCaged } from '#sync/render/run-caged.ts'

/** For code that ends by itself, however busy the machine is. */
const PATIENCE_MS = 120_000

let folder = ''
let cages: readonly [built: Cage, sources: Cage]
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-built-'))
  await bundleCage(releaseRoot(), folder)
  cages = [await findCage('allow', CAGE_LEVELS, bundleIn(folder)), await findCage('allow')]
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The answer and everything that was printed, from each. */
const answers = (files: Readonly<Record<string, string>>) =>
  Promise.all(
    cages.map(async (cage) => {
      const request = { files, entry: 'fleet/main.ts', release: '', now: 1_700_000_000_000, seed: 7 }
      const end = await runCaged(cage, request, { deadlineMs: PATIENCE_MS })
      return end.kind === 'Answered' ? [Buffer.concat(end.chunks).toString('utf8'), end.printed] : [end.kind]
    }),
  )

const HEAD = `import { ApiObject, App, Chart } from 'cdk8s'\nconst app = new App()\n`

test.each([
  ['the example fleet', folderFiles(releaseRoot(), ['fleet', 'rules']), /"MachineComponentSet"/],
  [
    'classes of cdk8s-plus',
    {
      'fleet/main.ts': `${HEAD}import { ConfigMap } from 'cdk8s-plus-27'
new ConfigMap(new Chart(app, 'c', { namespace: 'x' }), 'map', { data: { a: '1' } })
app.synth()`,
    },
    /"ConfigMap"/,
  ],
  [
    'an object that is refused',
    {
      'fleet/main.ts': `${HEAD}import { MachineSet } from 'kubenode/constructs'
new MachineSet(new Chart(app, 'c'), 'set', { spec: { replicas: -1 } as never })`,
    },
    /KN5000.*"at":"fleet\/main.ts:4/,
  ],
  [
    'a circle of dependencies',
    {
      'fleet/main.ts': `${HEAD}const [a, b] = ['a', 'b'].map((id) => new Chart(app, id))
a.addDependency(b)
b.addDependency(a)
app.synth()`,
    },
    /[Cc]ycle/,
  ],
  [
    'a stack trace that is printed',
    {
      'fleet/main.ts': `${HEAD}try { new ApiObject(app, 'x', {} as never) } catch (error) { console.log(String(error)) }
new Chart(app, 'c')
app.synth()`,
    },
    /"target":"c"/,
  ],
])('%s gives the same bytes with built files as with the sources', async (_, files, expected) => {
  const [built, sources] = await answers(files)
  expect(built).toEqual(sources)
  expect(String(built)).toMatch(expected)
})

test('every module that a fleet may import is built', async () => {
  const names = Object.keys(bundleIn(folder)?.names ?? {}).filter((name) => !name.startsWith('#'))
  expect(names).toContain('kubenode/kinds/machine-set')
  const code = `${names.map((name, i) => `import * as m${i} from '${name}'`).join('\n')}
import { App, Chart } from 'cdk8s'
const app = new App()
new Chart(app, 'c')
console.log(JSON.stringify([${names.map((_name, i) => `Object.keys(m${i}).filter((n) => n !== 'module.exports' && n !== '__esModule').toSorted()`).join(',')}]))
app.synth()`
  const [built, sources] = await answers({ 'fleet/main.ts': code })
  expect(built).toEqual(sources)
})

test.each<readonly [string, (copy: string) => void]>([
  ['a changed byte', (copy) => appendFileSync(join(copy, BUNDLE_MAIN), '\n')],
  ['an empty file', (copy) => writeFileSync(join(copy, 'cdk8s.mjs'), '')],
  ['a file too many', (copy) => writeFileSync(join(copy, 'more.mjs'), '')],
  ['a missing file', (copy) => rmSync(join(copy, 'cdk8s.mjs'))],
  ['no index', (copy) => rmSync(join(copy, BUNDLE_INDEX))],
  [
    'an index that names a file elsewhere',
    (copy) => {
      const path = join(copy, BUNDLE_INDEX)
      writeFileSync(path, readFileSync(path, 'utf8').replace('"cdk8s.mjs"', '"../cdk8s.mjs"'))
    },
  ],
])('built files with %s are not used', (_, damage) => {
  const copy = mkdtempSync(join(tmpdir(), 'kubenode-damaged-'))
  try {
    cpSync(folder, copy, { recursive: true })
    expect(bundleIn(copy)).toBeDefined()
    damage(copy)
    expect(bundleIn(copy)).toBeUndefined()
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

test('equal sources make equal files', async () => {
  const again = mkdtempSync(join(tmpdir(), 'kubenode-built-'))
  try {
    await bundleCage(releaseRoot(), again)
    expect(readFileSync(join(again, BUNDLE_INDEX), 'utf8')).toBe(readFileSync(join(folder, BUNDLE_INDEX), 'utf8'))
  } finally {
    rmSync(again, { recursive: true, force: true })
  }
})

test('the built program imports no whole module of Node, which would load a hundred others', () => {
  const text = readFileSync(join(folder, BUNDLE_MAIN), 'utf8')
  expect(text).toContain('process.getBuiltinModule("node:fs")')
  expect(text).not.toMatch(/from "node:|import\("node:|import "node:/)
})
