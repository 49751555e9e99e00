// Finds edits of fleet files for a requested change: where a version is written, and the file that declares imported Machines. Pure; a render verifies the
// effect of an edit.
import type { Machine } from '#api/kinds/machine.ts'
import { isObject } from '#lib/json.ts'
import { type Edit, isPlain, parsedJson } from './edit.ts'
import { chartOf, declaringFunction, mainEdit } from './main-edit.ts'

/** Each one is rendered. */
const MOST_TRIES = 6
/** Maximum lines between a component's name and its version, in either order. */
const MOST_APART = 6

interface Place {
  readonly edit: Edit
  readonly apart: number
}

const CODE = /\.(ts|json|ya?ml)$/
const TEST = /\.(test|cases)\.ts$/

/** Most likely places first: a quoted version next to the component's name. */
export function versionEdits(
  files: ReadonlyMap<string, string>,
  { component, from, to }: { readonly component: string; readonly from: string; readonly to: string },
): readonly Edit[] {
  return [...files]
    .filter(([path, text]) => CODE.test(path) && !TEST.test(path) && isPlain(text))
    .flatMap(([path, text]) => placesIn(path, text, component, from, to))
    .toSorted((a, b) => a.apart - b.apart || (a.edit.path < b.edit.path ? -1 : 1))
    .slice(0, MOST_TRIES)
    .map(({ edit }) => edit)
}

function placesIn(path: string, text: string, component: string, from: string, to: string): readonly Place[] {
  const lines = text.split('\n')
  const named = lines.flatMap((line, n) => (hasWord(line, component) ? [n] : []))
  return lines.flatMap((line, n) => {
    const at = quotedAt(line, from)
    const apart = Math.min(...named.map((m) => Math.abs(m - n)))
    if (at === -1 || apart > MOST_APART) return []
    const edited = `${line.slice(0, at)}${to}${line.slice(at + from.length)}`
    return [{ edit: { path, before: text, after: lines.with(n, edited).join('\n') }, apart }]
  })
}

const isPart = (c: string | undefined): boolean => c !== undefined && /[\w.+-]/.test(c)

function hasWord(line: string, word: string): boolean {
  for (let at = line.indexOf(word); at !== -1; at = line.indexOf(word, at + 1))
    if (!isPart(line[at - 1]) && !isPart(line[at + word.length])) return true
  return false
}

/** As a separate value, quoted or bare as in YAML. */
function quotedAt(line: string, value: string): number {
  for (let at = line.indexOf(value); at !== -1; at = line.indexOf(value, at + 1))
    if (!isPart(line[at - 1]) && !isPart(line[at + value.length])) return at
  return -1
}

/** Where a rule is in dry-run mode: a mode next to its name, or a list of the rules that a stage enforces, such as `enforced.json`. */
export function enforceEdits(
  files: ReadonlyMap<string, string>,
  rule: string,
  stage: string | undefined,
): readonly Edit[] {
  const listed = [...files].flatMap(([path, text]) =>
    /(^|\/)enforced?\.json$/.test(path) && isPlain(text) ? (listEdit(path, text, rule, stage) ?? []) : [],
  )
  return [...listed, ...versionEdits(files, { component: rule, from: 'DryRun', to: 'Enforce' })].slice(0, MOST_TRIES)
}

/** A list of names, or one list per stage. */
function listEdit(path: string, text: string, rule: string, stage: string | undefined): Edit | undefined {
  const value = parsedJson(text)
  const more = (list: unknown): readonly string[] | undefined =>
    Array.isArray(list) && list.every((v) => typeof v === 'string') && !list.includes(rule)
      ? [...list, rule].toSorted()
      : undefined
  const next = isObject(value)
    ? withStage(value, stage ?? onlyKey(value), more)
    : stage === undefined
      ? more(value)
      : undefined
  return next && { path, before: text, after: `${JSON.stringify(next, null, 2)}\n` }
}

const onlyKey = (value: object): string | undefined =>
  Object.keys(value).length === 1 ? Object.keys(value)[0] : undefined

function withStage(
  value: Readonly<Record<string, unknown>>,
  stage: string | undefined,
  more: (list: unknown) => readonly string[] | undefined,
): object | undefined {
  const list = stage === undefined || !Object.hasOwn(value, stage) ? undefined : more(value[stage])
  return list && { ...value, [stage ?? '']: list }
}

/** Undefined unless `fleet/main.ts` ends like the one from `kubenode init`. */
export function importEdits(
  files: ReadonlyMap<string, string>,
  target: string,
  machines: readonly Machine[],
): readonly Edit[] | undefined {
  const path = `fleet/imported/${target}.ts`
  if (files.has(path)) return undefined
  const name = declaringFunction('Imported', target)
  const main = mainEdit(files, { name, path })
  return main && [main, { path, before: undefined, after: importedFile(target, name, machines) }]
}

/** Every text from a cluster is a JSON string here, which TypeScript reads as the same text. */
function importedFile(target: string, name: string, machines: readonly Machine[]): string {
  const made = machines.map(
    ({ metadata, spec }) =>
      `  new Machine(chart, ${JSON.stringify(metadata.name)}, ${JSON.stringify({ metadata, spec }, null, 2).replaceAll('\n', '\n  ')})`,
  )
  return [
    `// Machines for Nodes of ${target} that existed before: they are only observed until their channel is changed.`,
    "import type { App, Chart } from 'cdk8s'",
    "import { Machine } from 'kubenode/constructs'",
    '',
    `export function ${name}(app: App): void {`,
    `  const chart = app.node.findChild('${chartOf(target)}') as Chart`,
    ...made,
    '}',
    '',
  ].join('\n')
}
