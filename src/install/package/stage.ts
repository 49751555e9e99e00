// Builds the package from a checkout. Node.js refuses TypeScript below node_modules, so types are stripped module by module, and declarations are added for the
// modules that fleets import. Includes the packages that KubeNode's programs load, in the lock file's versions.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { entriesBelow } from '#lib/entries-below.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { bundleCage } from './bundle-cage.ts'
import { BUNDLE_FOLDER } from '#sync/render/bundle.ts'
import { bundleAgent, READY_FOLDER } from '#agent/join/program-bundle.ts'
import { LIBRARY_FILES } from '../init/library-rules.ts'
import { bundleErrors } from '#agent/join/bundle-errors.ts'
import { imageErrors } from '../image/image-errors.ts'
import { isAsLocked, readNpmPackages } from '../image/npm-packages.ts'
import { bundledFolders, bundledManifest, LOCK_FILE, lockEntries, packedManifest, type Sources } from './manifest.ts'

/** Where hosts install the agent; its unit uses this path. */
const AGENT_PREFIX = '/opt/kubenode'
const SOURCES = ['src', 'deploy'] as const
const TEMPLATE = 'template'
const DOCS = 'docs'
const RENDERER = 'src/sync/render'
/** kubenode's types refer to types of these packages. */
const TYPED = /^node_modules\/(cdk8s|cdk8s-plus-27|constructs|ajv)$/
/** Files that neither programs nor editors read. */
const UNREAD = /\.(map|md|markdown|bare|tsbuildinfo)$|(^|\/)(\.jsii|\.package-lock\.json)$|(^|\/)\.bin\//
const TYPES = /\.d\.[cm]?ts$/

export async function stagePackage(root: string, folder: string): Promise<void> {
  const sources = readSources(root)
  await transform(root, folder)
  copyData(root, folder)
  // Copied unchanged: `init` writes it.
  for (const path of filesBelow(join(root, TEMPLATE))) copy(root, folder, `${TEMPLATE}/${path}`)
  // Messages name these pages.
  for (const path of filesBelow(join(root, DOCS))) if (path.endsWith('.md')) copy(root, folder, `${DOCS}/${path}`)
  for (const path of LIBRARY_FILES) copy(root, folder, path)
  declare(root, folder)
  copyPackages(root, folder, sources)
  // Next to the module that loads it.
  await bundleCage(root, join(folder, RENDERER, BUNDLE_FOLDER))
  for (const program of ['kubenode', 'kubectl-kubenode', 'kubectl_complete-kubenode'])
    copy(root, folder, `bin/${program}`)
  await bundleAgent({ root, out: join(folder, READY_FOLDER), prefix: AGENT_PREFIX })
  writeJson(join(folder, 'package.json'), packedManifest(sources))
  writeJson(join(folder, LOCK_FILE), lockEntries(sources))
}

function readSources(root: string): Sources {
  const lock: unknown = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return {
    manifest: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Sources['manifest'],
    locked: (isObject(lock) ? lock['packages'] : {}) as Sources['locked'],
  }
}

const isModule = (path: string): boolean => path.endsWith('.ts') && !/\.(test|d)\.ts$/.test(path)

const filesBelow = (folder: string): readonly string[] =>
  [...entriesBelow(folder)].flatMap(({ kind, path }) => (kind === 'File' ? [path] : []))

/** One output file per module: what the cage loads for a fleet must pull in nothing else. */
async function transform(root: string, folder: string): Promise<void> {
  const { rolldown } = await import('rolldown').catch((cause: unknown) => {
    throw new KubeNodeError(bundleErrors.KN1050({ root }), { cause })
  })
  const modules = SOURCES.flatMap((below) => filesBelow(join(root, below)).map((path) => `${below}/${path}`)).filter(
    isModule,
  )
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(modules.map((path) => [path.replace(/\.ts$/, ''), path])),
    platform: 'node',
    external: (name) => !/^[.#/]/.test(name),
    treeshake: false,
    logLevel: 'silent',
    plugins: [{ name: 'no-empty-imports', renderChunk: withoutRuntime }],
  })
  await bundle.write({
    dir: folder,
    format: 'esm',
    preserveModules: true,
    preserveModulesRoot: root,
    virtualDirname: 'src/virtual',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
  })
  await bundle.close()
}

/** Each module would import the bundler's unused helpers from a folder that is not served to browsers, and the console page would stay blank. */
const withoutRuntime = (code: string): string =>
  code.replaceAll(/^import "[^"\n]*\/virtual\/_rolldown\/runtime\.js";\n/gm, '')

/** Definitions, rendered charts, tables, scripts. */
function copyData(root: string, folder: string): void {
  for (const below of SOURCES)
    for (const path of filesBelow(join(root, below)))
      if (!/\.ts$|(^|\/)README\.md$|\.test\.yaml$|(^|\/)\./.test(path)) copy(root, folder, `${below}/${path}`)
}

/** For editors: types of package.json's exports. */
function declare(root: string, folder: string): void {
  const { exports } = readSources(root).manifest
  const files = Object.values(isObject(exports) ? exports : {}).flatMap((path) => {
    if (typeof path !== 'string' || !path.endsWith('.ts')) return []
    if (!path.includes('*')) return [join(root, path)]
    return filesBelow(join(root, dirname(path)))
      .filter(isModule)
      .map((name) => join(root, dirname(path), name))
  })
  const config = join(folder, 'tsconfig.json')
  const compilerOptions = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: folder, rootDir: root }
  const typeRoots = [join(root, 'node_modules/@types')]
  writeJson(config, {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { ...compilerOptions, typeRoots },
    include: [],
    files,
  })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  if (!existsSync(compiler)) throw new KubeNodeError(bundleErrors.KN1050({ root }))
  execFileSync(process.execPath, [compiler, '-p', config], { stdio: 'pipe' })
  rmSync(config)
  for (const path of filesBelow(join(folder, 'src')).filter((name) => name.endsWith('.d.ts'))) {
    const at = join(folder, 'src', path)
    writeFileSync(at, packedImports(readFileSync(at, 'utf8')))
  }
}

/** Compiler output, so its format is known. */
const packedImports = (text: string): string =>
  text.replaceAll(/((?:from |import\()(['"])[.#][^'"\n]*)\.ts\2/g, '$1.js$2')

function copyPackages(root: string, folder: string, sources: Sources): void {
  const packages = readNpmPackages(root)
  for (const below of bundledFolders(sources)) {
    if (!isAsLocked(packages, below)) throw new KubeNodeError(imageErrors.KN1050_image({ folder: below, root }))
    for (const path of filesBelow(join(root, below))) {
      // A nested package has its own entry in the list.
      if (/(^|\/)node_modules\//.test(path) || UNREAD.test(path)) continue
      if (TYPES.test(path) && !TYPED.test(below) && !below.includes('/@types/')) continue
      copy(root, folder, `${below}/${path}`)
    }
    const manifest = join(folder, below, 'package.json')
    writeJson(manifest, bundledManifest(JSON.parse(readFileSync(manifest, 'utf8')) as Sources['manifest']))
  }
}

function copy(root: string, folder: string, path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  cpSync(join(root, path), join(folder, path))
}

const writeJson = (path: string, value: unknown): void =>
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`)
