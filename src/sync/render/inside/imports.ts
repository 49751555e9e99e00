// Decides what fleet code may import: its own files, the API of the running release, cdk8s, and the few builtins without side effects.
import { FLEET_ROOT } from '../protocol.ts'
import { BUILTIN_NAMES } from './builtins.ts'

const BUILTINS: ReadonlySet<string> = new Set(BUILTIN_NAMES)
/** Packages of other projects. */
export const PACKAGES: ReadonlySet<string> = new Set(['cdk8s', 'cdk8s-plus-27', 'constructs'])

/** The exports in package.json. The package is always the running release, never one from the commit. */
export const PUBLIC = /^kubenode\/[a-z][a-z0-9-]*(\/[a-z][a-z0-9-]*)?$/

/** The import name of a kubenode file. */
function meantName(specifier: string): string | undefined {
  const [, constructs, rest] = /^(?:#api|kubenode)\/(constructs\/)?([a-z][a-z0-9/-]*)\.[jt]s$/.exec(specifier) ?? []
  if (rest === undefined) return undefined
  return `kubenode/${constructs !== undefined && rest === 'constructs' ? 'constructs' : rest}`
}

export type ImportVerdict =
  | { readonly kind: 'File'; readonly path: string }
  | { readonly kind: 'Release'; readonly specifier: string }
  | { readonly kind: 'Refused'; readonly why: string }

export const fleetPath = (url: string): string => decodeURIComponent(url.slice(FLEET_ROOT.length))

export function judgeImport(specifier: string, from: string, has: (path: string) => boolean): ImportVerdict {
  if (specifier.startsWith('./') || specifier.startsWith('../') || specifier.startsWith(FLEET_ROOT)) {
    const path = fleetPath(new URL(specifier, from).href)
    if (has(path)) return { kind: 'File', path }
    const near = ['.ts', '/index.ts', '.json'].map((end) => `${path}${end}`).find(has)
    const hint = near === undefined ? 'check the path and its ending' : `write the whole name, as in ${near}`
    return { kind: 'Refused', why: `there is no file ${path}; ${hint}` }
  }
  if (PUBLIC.test(specifier)) return { kind: 'Release', specifier }
  const meant = meantName(specifier)
  if (meant !== undefined)
    return { kind: 'Refused', why: `${JSON.stringify(specifier)} is inside kubenode; import ${JSON.stringify(meant)}` }
  if (PACKAGES.has(specifier)) return { kind: 'Release', specifier }
  if (BUILTINS.has(specifier.replace(/^node:/, '')))
    return { kind: 'Release', specifier: `node:${specifier.replace(/^node:/, '')}` }
  return refused(specifier)
}

/** Node reports no place for an import that it resolves before the code runs. If the file builds the name at run time, its first line is reported. */
export function importAt(path: string, specifier: string, files: Readonly<Record<string, string>>): string | undefined {
  if (!Object.hasOwn(files, path)) return undefined
  const text = files[path] ?? ''
  const at = ["'", '"', '`'].map((quote) => text.indexOf(`${quote}${specifier}${quote}`)).find((index) => index >= 0)
  if (at === undefined) return `${path}:1:1`
  const before = text.slice(0, at).split('\n')
  return `${path}:${before.length}:${(before.at(-1) ?? '').length + 1}`
}

const refused = (specifier: string): ImportVerdict => ({
  kind: 'Refused',
  why: `${JSON.stringify(specifier)} may not be imported by a fleet; it may import its own files, kubenode/constructs and the other names of kubenode (docs/tasks/own-fleet.md), ${[...PACKAGES].join(', ')} and node:${[...BUILTINS].join(', ')}`,
})
