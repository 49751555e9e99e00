// Checks the layers of the code: which rooms may import which, which package is used where, and that imports have no cycles.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT, codeOf, isTest, parseImports, sourceFiles } from './source-files.ts'
import type { SourceFile } from './source-files.ts'

const BASE = ['policy', 'kube', 'api', 'schema', 'lib']
/** What several parts share about nodes, one subject a room. */
const SHARED = ['holds', 'windows', 'nodes', 'identity', 'permits', 'placement', 'secrets', 'declared', 'faults']
const BELOW_PARTS = ['controlplanes', 'providers', ...SHARED, 'runtime', ...BASE]

/** For each room, the rooms it may import from besides itself. `controllers/*` are siblings of each other. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  oci: ['lib'],
  schema: ['lib'],
  api: ['schema', 'lib'],
  kube: ['api', 'schema', 'lib'],
  policy: ['api', 'schema', 'lib'],
  runtime: BASE,
  holds: ['kube', 'api', 'schema', 'lib'],
  windows: ['lib'],
  nodes: ['runtime', ...BASE],
  identity: ['nodes', 'runtime', ...BASE],
  permits: ['runtime', ...BASE],
  placement: ['nodes', 'runtime', ...BASE],
  secrets: ['nodes', 'runtime', ...BASE],
  declared: ['holds', 'runtime', ...BASE],
  faults: ['declared', 'nodes', 'runtime', ...BASE],
  delivery: ['declared', 'placement', 'runtime', ...BASE],
  providers: ['runtime', ...BASE],
  controlplanes: ['identity', 'runtime', ...BASE],
  apiserver: ['schema', 'lib'],
  sync: ['delivery', ...BELOW_PARTS],
  controllers: ['delivery', ...BELOW_PARTS],
  defender: BELOW_PARTS,
  artifacts: ['identity', 'oci', 'runtime', ...BASE],
  agent: ['identity', 'nodes', 'providers', 'runtime', ...BASE],
  forecast: ['controllers', 'defender', 'sync', 'delivery', ...BELOW_PARTS],
  explain: ['forecast', 'controllers', 'defender', 'sync', 'delivery', ...BELOW_PARTS],
  console: ['explain', 'forecast', 'controllers', 'defender', 'sync', 'delivery', ...BELOW_PARTS],
  local: ['*'],
  cli: ['*'],
}

/** Packages that only some places may load, each with its reason in DESIGN: memory, trust, or one writer of a concern. */
const PACKAGE_ONLY_IN: Readonly<Record<string, readonly RegExp[]>> = {
  '@kubernetes/client-node': [/^src\/kube\/(kubeconfig|plugin-identity)\.ts$/],
  cdk8s: [/^src\/api\/constructs\//, /^fleet\//, /^rules\//, /^deploy\//],
  'cdk8s-plus-27': [/^src\/api\/constructs\//, /^fleet\//, /^deploy\//],
  constructs: [/^src\/api\/constructs\//, /^fleet\//, /^rules\//, /^deploy\//],
  'json-rules-engine': [/^src\/policy\//],
  '@marcbachmann/cel-js': [/^src\/schema\/cel\//],
  re2js: [/^src\/lib\/regex\.ts$/, /^src\/schema\/cel\//],
  pino: [/^src\/lib\/log-pino\.ts$/],
  'prom-client': [/^src\/runtime\//, /^src\/defender\/metrics\.ts$/, /^src\/(controllers|sync)\/.*metrics\.ts$/],
  commander: [/^src\/cli\//],
  'isomorphic-git': [/^src\/sync\//, /^src\/local\//, /^src\/cli\//],
}

const place = (path: string): string => path.split('/')[1] ?? ''
const controller = (path: string): string => path.split('/').slice(0, 3).join('/')
const packageOf = (s: string): string =>
  s
    .split('/')
    .slice(0, s.startsWith('@') ? 2 : 1)
    .join('/')

function layerProblems(f: SourceFile): string[] {
  const from = place(f.path)
  const allowed = MAY_IMPORT[from]
  if (allowed === undefined) return [`${f.path}: src/${from} is no place of the layout`]
  return f.imports.flatMap(({ file }) => {
    if (file === undefined) return []
    // The one place that names the version.
    if (file === 'package.json' && f.path === 'src/lib/program-version.ts') return []
    if (!file.startsWith('src/')) return isTest(f.path) ? [] : [`${f.path} imports ${file}`]
    const to = place(file)
    if (from === 'controllers' && to === 'controllers' && controller(f.path) !== controller(file)) {
      // One file lists all controllers and one holds their contract; both are beside them, not in one of them.
      if (file === 'src/controllers/module.ts') return []
      return f.path.split('/').length === 3 ? [] : [`${f.path} imports its sibling ${file}`]
    }
    return to === from || allowed.includes(to) || allowed.includes('*') ? [] : [`${f.path} imports ${file}`]
  })
}

function packageProblems(f: SourceFile): string[] {
  if (isTest(f.path)) return []
  return f.imports.flatMap(({ specifier, file }) => {
    const only = file === undefined ? PACKAGE_ONLY_IN[packageOf(specifier)] : undefined
    return only === undefined || only.some((r) => r.test(f.path)) ? [] : [`${f.path} imports ${specifier}`]
  })
}

function circles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((f) => [f.path, f]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      found.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      return
    }
    if (done.has(path)) return
    for (const i of byPath.get(path)?.imports ?? []) if (i.file !== undefined) visit(i.file, [...trail, path])
    done.add(path)
  }
  for (const f of files) visit(f.path, [])
  return found
}

const src = sourceFiles('src')
const product = src.filter((f) => !isTest(f.path))

test('imports point down', () => expect(src.flatMap(layerProblems)).toEqual([]))

test('every room opens with a sentence that says what it holds', () => {
  const rooms = [...new Set(src.map((f) => place(f.path)))].toSorted()
  const silent = rooms.filter((room) => {
    const path = join(ROOT, 'src', room, 'README.md')
    return !existsSync(path) || !new RegExp(`^# ${room}\n\n[A-Z].{20,}\\.\n$`).test(readFileSync(path, 'utf8'))
  })
  expect(silent).toEqual([])
})

test('no import runs in a circle', () => expect(circles(product)).toEqual([]))

test('packages are loaded only where the design says', () => {
  expect(sourceFiles('src', 'fleet', 'rules', 'deploy').flatMap(packageProblems)).toEqual([])
})

test('fleet and rules import src/api, and of policy only types', () => {
  const strays = sourceFiles('fleet', 'rules').flatMap((f) =>
    f.imports
      .filter(({ file }) => file?.startsWith('src/'))
      .filter(({ file, typeOnly }) => place(file ?? '') !== 'api' && !(place(file ?? '') === 'policy' && typeOnly))
      .filter(() => !isTest(f.path))
      .map(({ specifier }) => `${f.path} imports ${specifier}`),
  )
  expect(strays).toEqual([])
})

test('only the command line reads argv and the environment', () => {
  const readers = product.filter((f) => place(f.path) !== 'cli' && /\bprocess\.(env|argv)\b/.test(codeOf(f)))
  expect(readers.map((f) => f.path)).toEqual([])
})

/** Makes a context, and runs nothing in it. */
const HARMLESS = "import { constants, createContext } from 'node:vm'"

test('no source turns text into code', () => {
  const evil = product.filter((f) => /\bnew Function\b|\beval\(|node:vm/.test(codeOf(f).replace(HARMLESS, '')))
  expect(evil.map((f) => f.path)).toEqual([])
})

test('every source file opens with a sentence that says what it is', () => {
  const silent = product.filter((f) => !/^(#!.*\n)?(\/\/|\/\*\*?) ?\S/.test(f.text))
  expect(silent.map((f) => f.path)).toEqual([])
})

describe('the tests above can fail', () => {
  const file = (path: string, text: string): SourceFile => ({ path, text, imports: parseImports(path, text) })

  test('an import that points up is found', () => {
    expect(layerProblems(file('src/kube/x.ts', "import { a } from '#runtime/a.ts'"))).toHaveLength(1)
    expect(layerProblems(file('src/apiserver/x.ts', "import type { a } from '#kube/a.ts'"))).toHaveLength(1)
    expect(layerProblems(file('src/controllers/a/x.ts', "export * from '../b/y.ts'"))).toHaveLength(1)
    expect(layerProblems(file('src/lib/x.ts', "const a = await import('#api/a.ts')"))).toHaveLength(1)
    expect(layerProblems(file('src/kube/x.ts', "import {\n  a,\n  b,\n} from '#lib/a.ts'"))).toEqual([])
  })

  test('a package outside its place is found', () => {
    expect(
      packageProblems(file('src/agent/x.ts', "import { KubeConfig } from '@kubernetes/client-node'")),
    ).toHaveLength(1)
  })

  test('a circle is found', () => {
    const a = file('src/lib/a.ts', "import './b.ts'")
    const b = file('src/lib/b.ts', "import { x } from './a.ts'")
    expect(circles([a, b])).toEqual(['src/lib/a.ts → src/lib/b.ts → src/lib/a.ts'])
  })
})
