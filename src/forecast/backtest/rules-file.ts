// Reads the rules and policies that a file names. What it cannot read as such is refused: a rule that is left out unseen would pass as no change.
import { resolve } from 'node:path'
import { API_GROUP_VERSION, type ApiKind } from '#api/kind.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { kindNamed } from '#api/kinds.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { formatProblem } from '#api/problem.ts'
import { createValidator } from '#api/validate.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { type ParsedDocument, parseDocuments } from '#lib/documents.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isText } from '#lib/fields.ts'
import { isObject } from '#lib/json.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { Declared } from './backtest.ts'
import { backtestErrors } from './backtest-errors.ts'
import { RuleSet } from './rule-set.ts'

const MAX_BYTES = 16 * 1024 * 1024
const READ = [nodeRemedier, defenderPolicy]

export function rulesIn(file: string, cwd: string): Declared {
  const wrong = (why: string) => new KubeNodeError(backtestErrors.KN1346({ file, why }))
  let text: string
  try {
    text = readBoundedText(resolve(cwd, file), MAX_BYTES)
  } catch (cause) {
    throw wrong(systemTrouble(cause))
  }
  const { documents, problems } = parseDocuments(text)
  const [problem] = problems
  if (problem !== undefined) throw wrong(`line ${problem.line}: ${problem.message}`)
  const objects = documents.flatMap((document) => objectsIn(document, wrong))
  const declared = declaredIn(objects)
  const all = [...(declared.rules ?? []), ...(declared.policies ?? [])]
  if (all.length === 0) throw wrong('it has no NodeRemedier or DefenderPolicy')
  const problemHere = problemIn(declared)
  if (problemHere !== undefined) throw wrong(problemHere)
  const names = new Set<string>()
  for (const object of all) {
    const name = kindAndName(object)
    if (names.has(name)) throw wrong(`it has ${name} twice`)
    names.add(name)
  }
  return declared
}

const kindAndName = ({ kind, metadata }: NodeRemedier | DefenderPolicy): string => `${kind} ${metadata.name ?? ''}`

/** The first rule or policy that would not be evaluated, and why. */
export function problemIn({ rules = [], policies = [] }: Declared): string | undefined {
  const validator = createValidator()
  for (const object of [...rules, ...policies]) {
    const [first] = validator.problems(object.kind === 'NodeRemedier' ? nodeRemedier : defenderPolicy, object)
    if (first !== undefined) return `${kindAndName(object)}: ${formatProblem(first)}`
  }
  const unread = new RuleSet(rules).readings().find(({ problem }) => problem !== undefined)
  return unread && `${kindAndName(unread.remedier)}: ${unread.problem ?? ''}`
}

/** Of any kind: the same file may have other objects of a fleet. */
function objectsIn(document: ParsedDocument, wrong: (why: string) => KubeNodeError): readonly KubeObject[] {
  const { value } = document
  const items: readonly unknown[] | undefined =
    isObject(value) && Array.isArray(value['items']) ? value['items'] : undefined
  return (items ?? (value === null ? [] : [value])).map((item, n) => {
    const at = `line ${document.placeOf(items === undefined ? '' : `/items/${n}`).line}`
    if (!isObject(item) || !isText(item['kind']) || !isObject(item['metadata']))
      throw wrong(`${at}: it is no object with a kind and metadata`)
    const { apiVersion, kind } = item
    if (apiVersion === API_GROUP_VERSION && kindNamed(kind) === undefined) throw wrong(`${at}: ${unknownKind(kind)}`)
    return item as unknown as KubeObject
  })
}

function unknownKind(kind: string): string {
  const near = didYouMean(
    kind,
    READ.map((k) => k.kind),
  )
  return `no kind ${JSON.stringify(kind)} in ${API_GROUP_VERSION}${near === undefined ? '' : ` (did you mean ${near}?)`}`
}

/** A kind that is missing stays as the history recorded it: a file of rules says nothing about policies. */
export function declaredIn(objects: readonly KubeObject[]): Declared {
  const of = (kind: ApiKind): readonly unknown[] | undefined => {
    const found = objects.filter((o) => o.kind === kind.kind).map((o) => applyDefaults(kind.schema, o))
    return found.length === 0 ? undefined : found
  }
  return {
    rules: of(nodeRemedier) as readonly NodeRemedier[] | undefined,
    policies: of(defenderPolicy) as readonly DefenderPolicy[] | undefined,
  }
}
