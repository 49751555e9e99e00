// Bundles what the render cage loads into a few plain files: loading hundreds of small ones takes half of a large fleet's render time. The cage's own program
// and what a fleet may import are built separately: the first uses Node.js's modules, the second gets copies of them.
import { sha256OfFile } from '#lib/whole-file.ts'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { builtinModules, createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { BUNDLE_INDEX, BUNDLE_MAIN, type BundleIndex } from '#sync/render/bundle.ts'
import { PACKAGES } from '#sync/render/inside/imports.ts'

/** The cage's program loads it once the copies are in place. */
const SYNTHESIS = '#api/constructs/synthesis.ts'
/** Virtual modules: a bundler does not re-export the names of a CommonJS package. */
const DOOR = '\0door:'
/** A cage runs as a separate user. */
const [FOLDER_MODE, FILE_MODE] = [0o755, 0o644]

const OURS_DO_NOTHING = { test: /\.ts$/, sideEffects: false }
const TREESHAKE = { moduleSideEffects: [{ test: /\/node_modules\//, sideEffects: true }, OURS_DO_NOTHING] }

/**
 * Importing a Node module reads all of its exports, which loads streams, workers and a prompt. This lists only what the program uses; using another name fails
 * the build.
 */
const OF_NODE: Readonly<Record<string, string>> = {
  'node:crypto': 'createHash, hash',
  'node:events': 'EventEmitter',
  'node:fs': 'readFileSync, writeSync',
  // The bundler's own code needs the first one.
  'node:module': 'createRequire, builtinModules, registerHooks, stripTypeScriptTypes',
  'node:path': 'posix',
  'node:querystring': '',
  'node:url': '',
  'node:util': 'inspect, isDeepStrictEqual',
}
const NODE = '\0of-node:'
const FEW_OF_NODE = {
  name: 'few-of-node',
  resolveId: (id: string) => (Object.hasOwn(OF_NODE, id) ? `${NODE}${id}` : null),
  load: (id: string) => {
    if (!id.startsWith(NODE)) return null
    const name = id.slice(NODE.length)
    return `const all = process.getBuiltinModule('${name}')\nexport const { ${OF_NODE[name]} } = all\nexport default all\n`
  },
}

/** Equal sources give equal files. */
export async function bundleCage(root: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await bundleMain(root, folder)
  const sources = sourcesIn(root)
  await bundlePackages(root, folder, sources)
  writeIndex(folder, [...PACKAGES, ...sources.keys()])
}

async function bundleMain(root: string, dir: string): Promise<void> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    cwd: root,
    input: join(root, 'src/sync/render/inside/main.ts'),
    platform: 'node',
    external: [SYNTHESIS],
    plugins: [FEW_OF_NODE],
    treeshake: TREESHAKE,
    logLevel: 'silent',
  })
  await bundle.write({ dir, format: 'esm', entryFileNames: BUNDLE_MAIN, codeSplitting: false, comments: false })
  await bundle.close()
}

async function bundlePackages(root: string, dir: string, sources: ReadonlyMap<string, string>): Promise<void> {
  const { rolldown } = await import('rolldown')
  const { esmExternalRequirePlugin } = await import('rolldown/plugins')
  const doors = new Map([...PACKAGES].map((name) => [`${DOOR}${name}`, doorOf(root, name)]))
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries([
      ...[...PACKAGES].map((name) => [fileOf(name), `${DOOR}${name}`]),
      ...[...sources].map(([name, path]) => [fileOf(name), path]),
    ]),
    // With platform node, each package would get its own `require`.
    platform: 'neutral',
    resolve: { mainFields: ['main'], conditionNames: ['node', 'import'] },
    plugins: [
      esmExternalRequirePlugin({ external: [/^node:/, ...builtinModules] }),
      {
        name: 'doors',
        resolveId: (id: string) => (doors.has(id) ? id : isBuiltin(id) ? { id, external: true } : null),
        load: (id: string) => doors.get(id) ?? null,
      },
    ],
    treeshake: TREESHAKE,
    logLevel: 'silent',
  })
  await bundle.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    comments: false,
  })
  await bundle.close()
}

const fileOf = (name: string): string => name.replaceAll(/[#/]/g, '-')

function doorOf(root: string, name: string): string {
  const exported = createRequire(join(root, 'package.json'))(name) as object
  const names = Object.keys(exported).join(', ')
  return `import all from ${JSON.stringify(name)}\nexport const { ${names} } = all\nexport default all\n`
}

/** KubeNode's modules by the names that code in the cage imports. */
function sourcesIn(root: string): ReadonlyMap<string, string> {
  const { name: own, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const found = new Map([[SYNTHESIS, join(root, 'src/api/constructs/synthesis.ts')]])
  for (const [name, path] of Object.entries(exports)) {
    if (!path.endsWith('.ts')) continue
    const files = path.includes('*') ? modulesIn(join(root, dirname(path))) : ['']
    for (const file of files)
      found.set(`${own}${name.slice(1).replace('*', file)}`, join(root, path.replace('*', file)))
  }
  return found
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string>>
}

const modulesIn = (folder: string): readonly string[] =>
  readdirSync(folder).flatMap((file) =>
    file.endsWith('.ts') && !file.endsWith('.test.ts') ? [file.slice(0, -'.ts'.length)] : [],
  )

function writeIndex(folder: string, names: readonly string[]): void {
  chmodSync(folder, FOLDER_MODE)
  const files = readdirSync(folder).filter((file) => file !== BUNDLE_INDEX)
  const index: BundleIndex = {
    names: Object.fromEntries(names.map((name) => [name, `${fileOf(name)}.mjs`])),
    digests: Object.fromEntries(files.toSorted().map((file) => [file, sha256OfFile(join(folder, file))])),
  }
  writeFileSync(join(folder, BUNDLE_INDEX), JSON.stringify(index))
  for (const file of [...files, BUNDLE_INDEX]) chmodSync(join(folder, file), FILE_MODE)
}
