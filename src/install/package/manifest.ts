// The metadata of the packed kubenode: its package.json, and its entries in the package-lock.json of a repository that depends on it. Pure.
import { without } from '#lib/without.ts'
import { isObject } from '#lib/json.ts'

type Json = Readonly<Record<string, unknown>>

/** Manifest and lock file of the checkout. */
export interface Sources {
  readonly manifest: Json
  /** package-lock.json entries by folder. */
  readonly locked: Readonly<Record<string, Json>>
}

/** Lock file entries, by folder in the repository that depends on kubenode. */
export type LockEntries = Readonly<Record<string, Json>>

/** Inside the package: what a lock file needs besides the packed file's digest. */
export const LOCK_FILE = 'lock-entries.json'
const FOLDER = 'node_modules/kubenode'

/** Node.js itself, one package per platform. npm downloads the one that fits; the other packages are in the packed file. */
const isNode = (folder: string): boolean => /^node_modules\/node-(bin-)?(linux|darwin)-[a-z0-9]+$/.test(folder)

/** Folders of the packages that KubeNode's programs load, such as `node_modules/yaml`. */
export const bundledFolders = ({ locked }: Sources): readonly string[] =>
  Object.entries(locked).flatMap(([folder, one]) => (folder === '' || isExtra(one) ? [] : [folder]))

const isExtra = ({ dev, optional, devOptional, peer }: Json): boolean =>
  [dev, optional, devOptional, peer].includes(true)

/** Renames transformed sources: `src/api/kinds/machine.ts` becomes `src/api/kinds/machine.js`, with its types next to it. */
export function packedManifest({ manifest }: Sources): Json {
  const { name, version, description, type, engines, bin, dependencies, optionalDependencies } = manifest
  return {
    name,
    version,
    description,
    type,
    engines,
    bin,
    imports: mapped(manifest['imports'], packedPath),
    exports: mapped(manifest['exports'], exported),
    dependencies,
    bundleDependencies: isObject(dependencies) ? Object.keys(dependencies) : [],
    optionalDependencies,
  }
}

/** For modules; other files keep their names. */
const packedPath = (path: string): string => path.replace(/(?<!\.d)\.ts$/, '.js')

const exported = (path: string): unknown =>
  path.endsWith('.ts') ? { types: path.replace(/\.ts$/, '.d.ts'), default: packedPath(path) } : path

const mapped = (value: unknown, to: (path: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).flatMap(([name, path]) =>
      // Names used only by the checkout's tests.
      typeof path !== 'string' || path.startsWith('./test/') ? [] : [[name, to(path)]],
    ),
  )

/**
 * The manifest of a package bundled inside kubenode. Drops its optional packages: they are not in the packed file, so npm would download them, and one runs an
 * install script. Drops its Node version requirement: kubenode brings its own Node, but npm would check the one npm runs on.
 */
export function bundledManifest(manifest: Json): Json {
  return without(manifest, 'optionalDependencies', 'engines')
}

export function lockEntries(sources: Sources): LockEntries {
  const { version, engines, bin, dependencies, bundleDependencies, optionalDependencies } = packedManifest(sources)
  const own = { version, bundleDependencies, dependencies, bin, engines, optionalDependencies }
  const bundled = bundledFolders(sources).map((folder): [string, Json] => {
    const rest = without(sources.locked[folder] ?? {}, 'integrity', 'resolved', 'funding')
    return [`${FOLDER}/${folder}`, { ...bundledManifest(rest), inBundle: true }]
  })
  const nodes = Object.entries(sources.locked).filter(([folder]) => isNode(folder))
  return { [FOLDER]: own, ...Object.fromEntries(bundled), ...Object.fromEntries(nodes) }
}

/** The lock file of a repository with these dependencies; kubenode is the packed file at `path`. */
export function lockOf(
  repository: { readonly name: string; readonly dependencies: Readonly<Record<string, string>> },
  entries: LockEntries,
  packed: { readonly path: string; readonly integrity: string },
): Json {
  const { name, dependencies } = repository
  const { [FOLDER]: own = {}, ...others } = entries
  const { version, ...rest } = own
  return {
    name,
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': { name, devDependencies: dependencies },
      [FOLDER]: { version, resolved: `file:${packed.path}`, integrity: packed.integrity, dev: true, ...rest },
      ...Object.fromEntries(Object.entries(others).map(([folder, one]) => [folder, { ...one, dev: true }])),
    },
  }
}
