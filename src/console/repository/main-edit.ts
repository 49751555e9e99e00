// Adds the call of a new declaring function to `fleet/main.ts`. Pure.
import { type Edit, isPlain } from './edit.ts'

const MAIN = 'fleet/main.ts'
const SYNTH = /^app\.synth\(\)/m

interface Declaring {
  /** The function. */
  readonly name: string
  /** Its file. */
  readonly path: string
}

/** Undefined unless the file ends like the one from `kubenode init`. */
export function mainEdit(files: ReadonlyMap<string, string>, { name, path }: Declaring): Edit | undefined {
  const main = files.get(MAIN)
  if (main === undefined || !SYNTH.test(main) || !isPlain(main)) return undefined
  const imports = `import { ${name} } from './${path.replace(/^fleet\//, '')}'\n`
  const lastImport = [...main.matchAll(/^import .*\n/gm)].at(-1)
  const at = lastImport === undefined ? 0 : lastImport.index + lastImport[0].length
  const after = `${main.slice(0, at)}${imports}${main.slice(at)}`.replace(SYNTH, `${name}(app)\napp.synth()`)
  return { path: MAIN, before: main, after }
}

/** `declareImportedProd1` for the cluster prod-1. */
export const declaringFunction = (what: string, target: string): string =>
  `declare${what}${target.replace(/(^|-)([a-z0-9])/g, (_, __, c: string) => c.toUpperCase())}`

/** The id of a cluster's chart in the app. */
export const chartOf = (target: string): string => (target === 'hub' ? 'hub' : `cluster-${target}`)

const TARGET = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** A cluster's name that may become part of a path and of code. */
export const isPathName = (target: string): boolean => TARGET.test(target)
