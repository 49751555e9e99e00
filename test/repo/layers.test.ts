// Checks the layers of the code: which rooms may import which, which package is used where, and that imports have no cycles.
import { describe, expect, test } from 'vitest'
import { COMMAND_GROUPS } from '#cli/command-list.ts'
import { codeOf, isTest, parseImports, sourceFiles } from './source-files.ts'
import type { SourceFile } from './source-files.ts'

const GROUND = ['policy', 'kube', 'api', 'lib']
/** What several parts mean alike: what is asked before a disruption, what is declared, nodes, who is who, and what is applied. */
const SHARED = ['permits', 'declared', 'nodes', 'identity', 'delivery', 'measure']
/** Hosts, artifacts and control planes: what lies outside a cluster. */
const OUTSIDE = ['providers', 'artifacts', 'controlplanes', 'ssh']
const BELOW_PARTS = [...OUTSIDE, ...SHARED, 'runtime', ...GROUND]
const PARTS = ['controllers', 'defender', 'history', 'sync']

/** For each room, the rooms it may import from besides itself, floor by floor. `controllers/*` are siblings of each other. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  api: ['lib'],
  kube: ['api', 'lib'],
  policy: ['api', 'lib'],
  runtime: GROUND,
  permits: ['runtime', ...GROUND],
  declared: ['permits', 'runtime', ...GROUND],
  nodes: ['declared', 'permits', 'runtime', ...GROUND],
  identity: ['nodes', 'runtime', ...GROUND],
  delivery: ['declared', 'nodes', 'permits', 'runtime', ...GROUND],
  measure: ['declared', 'nodes', 'permits', 'runtime', ...GROUND],
  providers: ['runtime', ...GROUND],
  ssh: ['api', 'lib'],
  artifacts: ['identity', 'providers', 'runtime', ...GROUND],
  controlplanes: ['identity', 'runtime', ...GROUND],
  // Apart: a product in itself, which knows of KubeNode nothing but how objects and schemas are written.
  apiserver: ['lib'],
  sync: BELOW_PARTS,
  controllers: BELOW_PARTS,
  defender: BELOW_PARTS,
  agent: ['artifacts', 'identity', 'nodes', 'providers', 'ssh', 'runtime', ...GROUND],
  history: BELOW_PARTS,
  explain: [...PARTS, ...BELOW_PARTS],
  forecast: ['explain', ...PARTS, ...BELOW_PARTS],
  install: ['forecast', 'explain', 'agent', 'sync', ...BELOW_PARTS],
  console: ['install', 'forecast', 'explain', ...PARTS, ...BELOW_PARTS],
  programs: ['console', 'install', 'forecast', 'explain', 'agent', ...PARTS, ...BELOW_PARTS],
  cli: ['programs', 'console', 'install', 'forecast', 'explain', 'agent', ...PARTS, ...BELOW_PARTS],
}

/** Two rooms meet through one file alone. */
const DOORS: readonly { readonly from: RegExp; readonly to: RegExp }[] = [
  { from: /^src\/programs\//, to: /^src\/apiserver\/apiserver\.ts$/ },
  { from: /^src\/apiserver\//, to: /^src\/api\/schema\// },
  // The engine of schemas is the judge of our own schemas.
  { from: /^src\/.*\.test\.ts$/, to: /^src\/apiserver\/schema\// },
]

/** Packages that only some places may load, each with its reason in DESIGN: memory, trust, or one writer of a concern. */
const PACKAGE_ONLY_IN: Readonly<Record<string, readonly RegExp[]>> = {
  '@kubernetes/client-node': [/^src\/kube\/(kubeconfig|plugin-identity|login-program|built-in)\.ts$/],
  cdk8s: [/^src\/api\/constructs\//, /^fleet\//, /^rules\//, /^deploy\//],
  'cdk8s-plus-27': [/^src\/api\/constructs\//, /^fleet\//, /^deploy\//],
  constructs: [/^src\/api\/constructs\//, /^fleet\//, /^rules\//, /^deploy\//],
  'json-rules-engine': [/^src\/policy\//],
  '@marcbachmann/cel-js': [/^src\/apiserver\/schema\/cel\//],
  // Its bound is one file: whatever else speaks to an issuer would need one of its own.
  'openid-client': [/^src\/console\/server\/sign-in\/oidc\//],
  re2js: [/^src\/lib\/regex\.ts$/, /^src\/apiserver\/schema\/cel\//],
  diff: [/^src\/forecast\/plan\/unified\.ts$/],
  pino: [/^src\/lib\/log-pino\.ts$/],
  'prom-client': [/^src\/runtime\//, /^src\/defender\/metrics\.ts$/, /^src\/(controllers|sync)\/.*metrics\.ts$/],
  commander: [/^src\/cli\//],
  'isomorphic-git': [/^src\/sync\//, /^src\/programs\//, /^src\/cli\//],
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
    const isDoor = DOORS.some((door) => door.from.test(f.path) && door.to.test(file))
    return to === from || allowed.includes(to) || isDoor ? [] : [`${f.path} imports ${file}`]
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

test('only the command line and the programs read argv and the environment', () => {
  const readers = product.filter(
    (f) => !['cli', 'programs'].includes(place(f.path)) && /\bprocess\.(env|argv)\b/.test(codeOf(f)),
  )
  expect(readers.map((f) => f.path)).toEqual([])
})

/** What a decision cannot be repeated with: a clock, chance, a client, a file, a log. */
const EFFECTS =
  /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\b|\brandom(UUID|Bytes)\b|\bperformance\.now\b|\bset(Timeout|Interval)\b|\bfetch\(|\bprocess\.(env|argv|cwd|std\w+)\b|from 'node:(fs|child_process|net|http|https|os|dns|tls|timers|worker_threads|readline)/
/** Faces draw plans and ask for them; a decision is made below them. */
const FACES: ReadonlySet<string> = new Set(['cli', 'console', 'install', 'programs', 'forecast'])
const isPlan = (path: string): boolean => /\/plan(-[a-z-]+)?\.ts$/.test(path) && !FACES.has(place(path))

/** With the way to it, since the import that leads there is what has to change. */
function effectsOf(plan: SourceFile, files: ReadonlyMap<string, SourceFile>): readonly string[] {
  const ways = new Map([[plan.path, plan.path]])
  for (const [path, way] of ways) {
    const f = files.get(path)
    if (f === undefined) continue
    const found = EFFECTS.exec(codeOf(f))
    if (found !== null) return [`${way} has ${found[0]}`]
    for (const { file, typeOnly } of f.imports)
      if (file !== undefined && !typeOnly && !ways.has(file)) ways.set(file, `${way} → ${file}`)
  }
  return []
}

test('a plan and all that it imports reach no clock, no chance, no client, no file and no log', () => {
  const plans = product.filter((f) => isPlan(f.path))
  expect(plans.length).toBeGreaterThan(20)
  const files = new Map(product.map((f) => [f.path, f]))
  expect(plans.flatMap((f) => effectsOf(f, files))).toEqual([])
})

const PAGE = 'src/console/page/'

test('the page of the console reaches nothing of its server', () => {
  const files = new Map(product.map((f) => [f.path, f]))
  const ways = new Map(product.filter((f) => f.path.startsWith(PAGE)).map((f) => [f.path, f.path]))
  const strays: string[] = []
  for (const [path, way] of ways)
    for (const { specifier, file, typeOnly } of files.get(path)?.imports ?? []) {
      if (typeOnly) continue
      if (specifier.startsWith('node:') || file?.startsWith('src/console/server/') === true)
        strays.push(`${way} imports ${specifier}`)
      if (file !== undefined && !ways.has(file)) ways.set(file, `${way} → ${file}`)
    }
  expect(ways.size).toBeGreaterThan(20)
  expect(strays).toEqual([])
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

  test('a way around a door is found, and the door is not', () => {
    expect(layerProblems(file('src/programs/x.ts', "import { a } from '#apiserver/api-server.ts'"))).toHaveLength(1)
    expect(layerProblems(file('src/programs/x.ts', "import { a } from '#apiserver/apiserver.ts'"))).toEqual([])
    expect(layerProblems(file('src/cli/x.ts', "import { a } from '#apiserver/apiserver.ts'"))).toHaveLength(1)
    expect(layerProblems(file('src/cli/x.ts', "import { a } from '#test/a.ts'"))).toHaveLength(1)
  })

  test('a plan that reaches a clock is found, with the way to it', () => {
    const plan = file('src/sync/plan.ts', "import { a } from './b.ts'")
    const read = file('src/sync/b.ts', 'export const a = () => Date.now()')
    const files = new Map([plan, read].map((f) => [f.path, f]))
    expect(effectsOf(plan, files)).toEqual(['src/sync/plan.ts → src/sync/b.ts has Date.now('])
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

/** From the ground up: what a file of the command line imports inside `src/cli` is on its own floor or below. */
const CLI_FLOORS: readonly RegExp[] = [
  // The kit of the terminal, and words: data that any command may read.
  /^src\/cli\/(cli-errors|counted-option|habits|output|wait-screen|weak-cage|current-person)\.ts$|^src\/cli\/outline\//,
  // How a command reaches a fleet, and the objects that a user names.
  /^src\/cli\/fleet\//,
  // Lists and data, as `kubenode get` prints them.
  /^src\/cli\/get\//,
  // What is followed until it ends.
  /^src\/cli\/follow\//,
  /^src\/cli\/complete\//,
  /^src\/cli\/(advice|for-kubectl|missing)\.ts$/,
  /^src\/cli\/commands\//,
  // The tree of commands, and the entries of the programs.
  /^src\/cli\/[^/]+\.ts$/,
]
const cliFloor = (path: string): number => CLI_FLOORS.findIndex((floor) => floor.test(path))
const commandGroup = (path: string): string | undefined => /^src\/cli\/commands\/([^/]+)\//.exec(path)?.[1]

function cliProblems(f: SourceFile): string[] {
  if (cliFloor(f.path) < 0) return [`${f.path} is on no floor of the command line`]
  const own = commandGroup(f.path)
  return f.imports.flatMap(({ file }) => {
    if (file === undefined || place(file) !== 'cli') return []
    const other = commandGroup(file)
    const isSibling = own !== undefined && other !== undefined && own !== other
    return isSibling || cliFloor(file) > cliFloor(f.path) ? [`${f.path} imports ${file}`] : []
  })
}

describe('the command line', () => {
  const files = product.filter((f) => place(f.path) === 'cli')
  const commands = files.filter((f) => commandGroup(f.path) !== undefined)

  test('no import inside it points up, and no group of commands imports another', () => {
    expect(files.flatMap(cliProblems)).toEqual([])
  })

  test('each command is in the folder of its group in `kubenode --help`, and no other folder is there', () => {
    const folders = COMMAND_GROUPS.map(({ title, commands: own }) => ({
      folder: title.replace(' Commands:', '').toLowerCase().replaceAll(' ', '-'),
      names: Object.keys(own),
    }))
    const strays = folders.flatMap(({ folder, names }) => {
      const texts = commands.filter((f) => commandGroup(f.path) === folder).map((f) => f.text)
      const registers = (name: string): boolean => texts.some((t) => new RegExp(`\\.command\\([^)]*'${name}'`).test(t))
      return names.filter((name) => !registers(name)).map((name) => `${name} is not in src/cli/commands/${folder}`)
    })
    expect(strays).toEqual([])
    const known = new Set(folders.map(({ folder }) => folder))
    expect(commands.filter((f) => !known.has(commandGroup(f.path) ?? '')).map((f) => f.path)).toEqual([])
  })

  test('a file of a command is short, and no function of it is a page of imports', () => {
    expect(commands.filter((f) => f.text.split('\n').length > MAX_COMMAND_LINES).map((f) => f.path)).toEqual([])
    const pages = commands.filter((f) =>
      [...f.text.matchAll(/Promise\.all\(\[(.*?)\]\)/gs)].some(
        ([, all = '']) => all.split('import(').length - 1 > MAX_IMPORTS_AT_ONCE,
      ),
    )
    expect(pages.map((f) => f.path)).toEqual([])
  })

  test('an import that points up in it is found', () => {
    const file = (path: string, text: string): SourceFile => ({ path, text, imports: parseImports(path, text) })
    expect(cliProblems(file('src/cli/get/x.ts', "import { a } from '../commands/basic/a.ts'"))).toHaveLength(1)
    expect(cliProblems(file('src/cli/commands/basic/x.ts', "import { a } from '../repair/a.ts'"))).toHaveLength(1)
    expect(cliProblems(file('src/cli/commands/basic/x.ts', "import { a } from '../../fleet/a.ts'"))).toEqual([])
    expect(cliProblems(file('src/cli/new/x.ts', ''))).toHaveLength(1)
  })
})

/** Options, one call, print: what needs more is work, and belongs to a room. */
const MAX_COMMAND_LINES = 150
const MAX_IMPORTS_AT_ONCE = 4
