// What the packed kubenode says of itself: its package.json, and its entries in the package-lock.json of a repository that depends on it. Pure.
import { isObject } from '#lib/json.ts'

type Json = Readonly<Record<string, unknown>>

/** Of the checkout. */
export interface Sources {
  readonly manifest: Json
  /** The entries of package-lock.json by folder. */
  readonly locked: Readonly<Record<string, Json>>
}

/** Entries of a lock file, by the folder in the repository that depends on kubenode. */
export type LockEntries = Readonly<Record<string, Json>>

/** In the package: what a lock file needs besides the digest of the packed file. */
export const LOCK_FILE = 'lock-entries.json'
const FOLDER = 'node_modules/kubenode'

/** Node.js itself, for one platform each. npm fetches the one that fits; the others are in the packed file. */
const isNode = (folder: string): boolean => /^node_modules\/node-(bin-)?(linux|darwin)-[a-z0-9]+$/.test(folder)

/** Folders of the packages that our programs load, such as `node_modules/yaml`. */
export const bundledFolders = ({ locked }: Sources): readonly string[] =>
  Object.entries(locked).flatMap(([folder, one]) => (folder === '' || isExtra(one) ? [] : [folder]))

const isExtra = ({ dev, optional, devOptional, peer }: Json): boolean =>
  [dev, optional, devOptional, peer].includes(true)

/** Names of transformed sources: `src/api/kinds/machine.ts` is `src/api/kinds/machine.js`, with its types beside it. */
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

/** Of modules; other files keep their names. */
const packedPath = (path: string): string => path.replace(/(?<!\.d)\.ts$/, '.js')

const exported = (path: string): unknown =>
  path.endsWith('.ts') ? { types: path.replace(/\.ts$/, '.d.ts'), default: packedPath(path) } : path

const mapped = (value: unknown, to: (path: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).flatMap(([name, path]) =>
      // Names for tests of the checkout.
      typeof path !== 'string' || path.startsWith('./test/') ? [] : [[name, to(path)]],
    ),
  )

/**
 * Of a package inside ours. Its optional packages are not in the packed file, and npm would fetch them: one of them runs a script when it is installed.
 * The Node that it needs is the one that ours brings, and npm would compare it with the Node that npm itself runs on.
 */
export function bundledManifest(manifest: Json): Json {
  const { optionalDependencies: _, engines: __, ...rest } = manifest
  return rest
}

export function lockEntries(sources: Sources): LockEntries {
  const { version, engines, bin, dependencies, bundleDependencies, optionalDependencies } = packedManifest(sources)
  const own = { version, bundleDependencies, dependencies, bin, engines, optionalDependencies }
  const bundled = bundledFolders(sources).map((folder): [string, Json] => {
    const { integrity: _, resolved: __, funding: ___, ...rest } = sources.locked[folder] ?? {}
    return [`${FOLDER}/${folder}`, { ...bundledManifest(rest), inBundle: true }]
  })
  const nodes = Object.entries(sources.locked).filter(([folder]) => isNode(folder))
  return { [FOLDER]: own, ...Object.fromEntries(bundled), ...Object.fromEntries(nodes) }
}

/** The lock file of a repository with these dependencies, of which kubenode is the packed file at `path`. */
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
