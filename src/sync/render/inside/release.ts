// Decides where every import inside the cage leads. While the release itself loads: anywhere below it, with copies of Node.js's modules. After the fleet
// starts: to fleet files, and to modules that are already loaded. The importing module makes no difference.
import { builtinModules, registerHooks } from 'node:module'
import { FLEET_ROOT, type RenderRequest } from '../protocol.ts'
import type { Builtins } from './builtins.ts'
import { fleetPath, importAt, judgeImport, PUBLIC } from './imports.ts'
import { jsonProblem } from './json-problem.ts'

export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
  /** The import's position in the file, as `fleet/rules.ts:3:21`; undefined where its text is unknown. */
  readonly at: string | undefined

  constructor(message: string, at?: string) {
    super(message)
    this.at = at
  }
}

/** A JSON file of the fleet that is not what its author wrote. */
export class JsonRefused extends SyntaxError {
  readonly at: string

  constructor(message: string, at: string) {
    super(message)
    this.at = at
  }
}

/** Modules of the release have the same address on every machine. */
const RELEASE_ROOT = 'release:///'
const BUILTIN_ROOT = 'builtin:///'
/** Hands the copies to the modules that export them; removed before the fleet starts. */
const HANDED = 'kubenode:builtins'

const NODES: ReadonlySet<string> = new Set(builtinModules)
const builtinName = (specifier: string): string | undefined => {
  const name = specifier.replace(/^node:/, '')
  return specifier.startsWith('node:') || NODES.has(name) ? name : undefined
}

export interface Imports {
  /** Loads the release modules that the fleet's texts name. */
  readonly loadNamed: () => Promise<void>
  /** From here on no module of the release is loaded. */
  readonly close: () => void
}

export function openImports(
  { files, release, built = {} }: Pick<RenderRequest, 'files' | 'release' | 'built'>,
  builtins: { readonly fleet: Builtins; readonly release: Builtins },
): Imports {
  const has = (path: string) => Object.hasOwn(files, path)
  /** Text of the modules that give a fleet the release, by address. */
  const doors = new Map<string, string>()
  let isOpen = true
  Object.defineProperty(globalThis, HANDED, { value: builtins.release, configurable: true })

  registerHooks({
    resolve(specifier, context, next) {
      if (isOpen && !specifier.startsWith(FLEET_ROOT)) {
        if (doors.has(specifier)) return { url: specifier, shortCircuit: true }
        if (Object.hasOwn(built, specifier)) return { url: built[specifier] ?? '', shortCircuit: true }
        const name = builtinName(specifier)
        if (name === undefined) return next(specifier, { ...context, parentURL: realParent(context.parentURL) })
        if (!Object.hasOwn(builtins.release, name)) throw new Error(`the cage has no copy of node:${name}`)
        const kind = context.conditions.includes('require') ? 'require' : 'import'
        return { url: `${BUILTIN_ROOT}${name}?${kind}`, shortCircuit: true }
      }
      const from = context.parentURL ?? ''
      const parent = from.startsWith(FLEET_ROOT) ? from : FLEET_ROOT
      const verdict = judgeImport(specifier, parent, has)
      const refused = (why: string) => new ImportRefused(why, importAt(fleetPath(parent), specifier, files))
      if (verdict.kind === 'Refused') throw refused(verdict.why)
      if (verdict.kind === 'File') return { url: new URL(encodeURI(verdict.path), FLEET_ROOT).href, shortCircuit: true }
      const url = `${RELEASE_ROOT}${verdict.specifier}`
      if (!doors.has(url)) throw refused(missing(specifier))
      return { url, shortCircuit: true }
    },
    load(url, context, next) {
      if (url.startsWith(FLEET_ROOT)) {
        const path = fleetPath(url)
        const format = path.endsWith('.json') ? 'json' : /\.[cm]?ts$/.test(path) ? 'module-typescript' : 'module'
        const source = has(path) ? (files[path] ?? '') : ''
        if (format === 'json') refuseWrongJson(path, source)
        return { format, source, shortCircuit: true }
      }
      if (!isOpen) throw new ImportRefused(`${url.slice(0, 200)} cannot be loaded: the fleet has started`)
      const door = doors.get(url)
      if (door !== undefined) return { format: 'module', source: door, shortCircuit: true }
      if (url.startsWith(BUILTIN_ROOT)) return copyOf(url.slice(BUILTIN_ROOT.length), builtins.release)
      return next(url, context)
    },
  })

  const realParent = (from: string | undefined): string =>
    from === undefined || from.startsWith(RELEASE_ROOT) ? release : from

  const open = async (specifier: string): Promise<void> => {
    const url = `${RELEASE_ROOT}${specifier}`
    const names = (await import(specifier).catch((error: unknown) => notThere(specifier, error))) as object | undefined
    if (names === undefined) return
    const from = JSON.stringify(specifier)
    doors.set(url, `export * from ${from}\n${'default' in names ? `export { default } from ${from}\n` : ''}`)
    await import(url)
  }
  return {
    loadNamed: async () => {
      for (const specifier of namedIn(files)) await open(specifier)
    },
    close: () => {
      isOpen = false
      Reflect.deleteProperty(globalThis, HANDED)
    },
  }
}

function refuseWrongJson(path: string, source: string): void {
  const problem = jsonProblem(source)
  if (problem !== undefined) throw new JsonRefused(problem.why, `${path}:${problem.line}`)
}

/** A name that the release lacks fails where the fleet imports it, with a place. */
function notThere(specifier: string, error: unknown): undefined {
  const { code } = error as { readonly code?: unknown }
  if (PUBLIC.test(specifier) && (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')) return
  throw error
}

const missing = (specifier: string): string =>
  PUBLIC.test(specifier)
    ? `the release has no ${specifier}, or the name is not written out in a file of the fleet`
    : `write the name ${specifier} out in the import: nothing is loaded for a name that is made while the fleet runs`

const QUOTED = /(["'`])([a-z][\w@#./:-]{1,200})\1/g
/** TypeScript removes these imports, so loading them is not worth the time. */
const TYPES_ONLY = /^import type [^'"`;\n]* from (?:'[^'\n]*'|"[^"\n]*")/gm

/** The order must not depend on the files. */
function namedIn(files: Readonly<Record<string, string>>): readonly string[] {
  const found = new Set<string>()
  for (const text of Object.values(files))
    for (const [, , name = ''] of text.replace(TYPES_ONLY, '').matchAll(QUOTED)) {
      const verdict = judgeImport(name, FLEET_ROOT, () => false)
      if (verdict.kind === 'Release') found.add(verdict.specifier)
    }
  return [...found].toSorted()
}

function copyOf(name: string, builtins: Builtins) {
  const [module = '', kind] = name.split('?')
  const handed = `globalThis[${JSON.stringify(HANDED)}][${JSON.stringify(module)}]`
  if (kind === 'require') return { format: 'commonjs', source: `module.exports = ${handed}\n`, shortCircuit: true }
  const names = Object.keys(builtins[module] ?? {}).join(', ')
  const source = `const all = ${handed}\nexport const { ${names} } = all\nexport default all\n`
  return { format: 'module', source, shortCircuit: true }
}
