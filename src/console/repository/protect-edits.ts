// Edits that protect machines from every disruption, or let them be disrupted again: a list of names with reasons, which a DefenderPolicy declares. Pure.
import { isObject } from '#lib/json.ts'
import { type Edit, isPlain, parsedJson } from './edit.ts'
import { chartOf, declaringFunction, mainEdit } from './main-edit.ts'

/** The policy that this list becomes. */
export const PROTECTING_POLICY = 'protected-machines'

/** The limit of `spec.protect`. */
const MOST_PROTECTED = 64

interface Protected {
  readonly name: string
  readonly reason: string
}

export interface ProtectChange {
  /** The cluster, as the fleet calls it. */
  readonly target: string
  readonly machines: readonly string[]
  readonly isProtected: boolean
  readonly reason: string
}

/** Or why there are none. */
export function protectEdits(
  files: ReadonlyMap<string, string>,
  { target, machines, isProtected, reason }: ProtectChange,
): readonly Edit[] | string {
  const path = `fleet/protected/${target}.json`
  const before = files.get(path)
  const known = before === undefined ? [] : protectedIn(before)
  if (known === undefined) return `${path} is not a list of names and reasons`
  const named = new Set(machines)
  const others = known.filter(({ name }) => !named.has(name))
  const found = known.filter(({ name }) => named.has(name))
  if (found.length === (isProtected ? named.size : 0))
    return isProtected ? `${path} has them already` : `${path} has none of them`
  const isKnown = new Set(found.map(({ name }) => name))
  const added = [...named].filter((name) => !isKnown.has(name)).map((name) => ({ name, reason }))
  const after = isProtected ? [...others, ...found, ...added].toSorted((a, b) => (a.name < b.name ? -1 : 1)) : others
  if (after.length > MOST_PROTECTED) return `${path} would have more than ${MOST_PROTECTED} machines`
  const list: Edit = { path, before, after: `${JSON.stringify(after, null, 2)}\n` }
  if (before !== undefined) return [list]
  const name = declaringFunction('Protected', target)
  const file = `fleet/protected/${target}.ts`
  const main = files.has(file) ? undefined : mainEdit(files, { name, path: file })
  if (main === undefined) return `fleet/main.ts does not end with app.synth(), or ${file} exists already`
  return [main, list, { path: file, before: undefined, after: declaringFile(target, name) }]
}

function protectedIn(text: string): readonly Protected[] | undefined {
  const list = isPlain(text) ? parsedJson(text) : undefined
  return Array.isArray(list) && list.every(isEntry) ? list : undefined
}

const isEntry = (value: unknown): value is Protected =>
  isObject(value) &&
  typeof value['name'] === 'string' &&
  typeof value['reason'] === 'string' &&
  Object.keys(value).length === 2

const declaringFile = (target: string, name: string): string =>
  [
    `// Machines of ${target} that nothing may disrupt, each with its reason: ${target}.json.`,
    "import type { App, Chart } from 'cdk8s'",
    "import { DefenderPolicy } from 'kubenode/constructs'",
    `import machines from './${target}.json' with { type: 'json' }`,
    '',
    `export function ${name}(app: App): void {`,
    `  const chart = app.node.findChild('${chartOf(target)}') as Chart`,
    `  if (machines.length > 0) new DefenderPolicy(chart, '${PROTECTING_POLICY}', { spec: { protect: machines } })`,
    '}',
    '',
  ].join('\n')
