// Problems of hand-written documents: KubeNode objects, rules, kubeconfigs, and the basic fields of every other object.
import { defined } from '#lib/defined.ts'
import { parseDocuments } from '#lib/documents.ts'
import type { ParsedDocument } from '#lib/documents.ts'
import type { ErrorCode } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { KINDS, kindNamed } from '#api/kinds.ts'
import { formatProblem } from '#api/problem.ts'
import { parseSignedTrust, type SignedTrust } from '#api/trust/trust-document.ts'
import type { Validator } from '#api/validate.ts'
import { safeKubeconfigProblems } from '#kube/kubeconfig-safe.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { policyErrors } from '#policy/policy-errors.ts'
import { describeProblem } from '#policy/problem.ts'
import { neverTrue } from '#policy/satisfiable.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { textOf } from '#lib/fields.ts'
import { identityProblem } from '#declared/identity.ts'
import { ownershipProblem } from '#declared/ownership.ts'
import { declaredProblems } from '#declared/declared-problems.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { agentConfigFindings, isAgentConfigFile } from './agent-config.ts'
import type { LintFile } from './files.ts'
import { type Finding, markOf } from './finding.ts'
import { lintErrors } from './lint-errors.ts'

/** A KubeNode object that is valid on its own, with its position in a file. */
interface Placed {
  readonly file: string
  readonly object: KubeObject
  readonly placeOf: (pointer: string) => { readonly line: number; readonly column: number }
}

interface Unplaced {
  readonly code: ErrorCode
  readonly message: string
  readonly pointer: string
  readonly isWarning?: true
}

export interface LintResult {
  readonly findings: readonly Finding[]
  /** Checked objects, rules and kubeconfigs. */
  readonly checked: number
  /** For comparison with those of other files. */
  readonly objects: readonly Placed[]
  readonly trust: readonly SignedTrust[]
  /** Texts of agent.json: rules may use the conditions they report. */
  readonly agentConfigs: readonly string[]
  /** Documents that are not API objects: values read by code next to them. */
  readonly data: number
}

const isRule = (v: Record<string, unknown>): boolean =>
  v['kind'] === undefined && ['all', 'any', 'not', 'conditions'].some((k) => Object.hasOwn(v, k))

const objectText = (v: Record<string, unknown>): string => {
  const meta = v['metadata']
  const name = isObject(meta) ? (meta['name'] ?? meta['generateName']) : undefined
  return `${textOf(v['kind']) || 'object'}/${textOf(name) || '?'}`
}

/** Removes the `KN….: ` prefix from a problem's text: the number has its own column. */
const withoutCode = (text: string): string => text.replace(/^KN\d+: /, '')

function ruleProblems(name: string, definition: unknown, pointer: string): Unplaced[] {
  const vocabulary = nodeVocabulary()
  const compiled = compileRule(name, definition, vocabulary)
  if (compiled.ok) {
    const never = neverTrue(compiled.rule.root, vocabulary)
    if (never === undefined) return []
    const { code, text } = policyErrors.KN4001_never({ why: never.message })
    return [{ code, message: text, pointer: pointer + (never.pointers[0] ?? '') }]
  }
  return compiled.problems.map((p) => ({
    code: p.code,
    message: withoutCode(describeProblem(p)),
    pointer: pointer + p.pointer,
  }))
}

function ownProblems(value: Record<string, unknown>, validator: Validator): Unplaced[] {
  const kind = kindNamed(textOf(value['kind']))
  if (kind === undefined) {
    const near = didYouMean(
      textOf(value['kind']),
      KINDS.map((k) => k.kind),
    )
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    return [
      {
        code: lintErrors.KN1020_kind.code,
        message: `no kind ${JSON.stringify(value['kind'])} in ${API_GROUP_VERSION}${hint}`,
        pointer: '/kind',
      },
    ]
  }
  return validator
    .problems(kind, value)
    .map((p) => ({ code: p.code, message: withoutCode(formatProblem(p)), pointer: p.pointer }))
}

/** A trust document is not an API object; it is stored next to the components that it covers. */
const isTrust = (v: Record<string, unknown>): boolean =>
  v['apiVersion'] === undefined && isObject(v['document']) && Array.isArray(v['signatures'])

const trustProblems = (v: Record<string, unknown>): Unplaced[] =>
  parseSignedTrust(v) === undefined
    ? [
        {
          code: lintErrors.KN1024.code,
          message: 'this is no trust document; make one with kubenode artifact keys trust',
          pointer: '/document',
        },
      ]
    : []

/** Files that programs read directly, such as a KubeletConfiguration: objects in form, but without a name. */
const CONFIGURATION = /^(?:[a-z]+\.config\.k8s\.io|audit\.k8s\.io|kubeadm\.k8s\.io|kind\.x-k8s\.io)\//

function frameProblems(value: Record<string, unknown>): Unplaced[] {
  const out: Unplaced[] = []
  for (const field of ['apiVersion', 'kind'] as const) {
    if (typeof value[field] !== 'string' || value[field] === '') {
      out.push({
        code: lintErrors.KN1020_field.code,
        message: `every object names its ${field}; this one does not`,
        pointer: `/${field}`,
      })
    }
  }
  const meta = value['metadata']
  const named = isObject(meta) && (typeof meta['name'] === 'string' || typeof meta['generateName'] === 'string')
  if (out.length === 0 && !named && !CONFIGURATION.test(textOf(value['apiVersion']))) {
    out.push({
      code: lintErrors.KN1020_name.code,
      message: `${textOf(value['kind'])} has no metadata.name; give it one`,
      pointer: '/metadata',
    })
  }
  return out
}

/** Kinds that no commit may declare. Users do create holds and approvals from files, so these get only a warning. */
function commitProblems(value: Record<string, unknown>): Unplaced[] {
  if (value['apiVersion'] === undefined || !isObject(value['metadata'])) return []
  const named = identityProblem(value)
  if (named !== undefined) {
    // A missing name is already reported with the basic fields.
    if (named.message.startsWith('has no ')) return []
    return [{ code: lintErrors.KN1020_metadata.code, message: `the object ${named.message}`, pointer: named.pointer }]
  }
  const owned = ownershipProblem(value as unknown as KubeObject)
  if (owned === undefined) return []
  const { code, text } = owned.message
  return [{ code, message: text, pointer: owned.pointer, ...(owned.isForPeople && { isWarning: true as const }) }]
}

/** The problems of one value, and how many objects it contains. */
function lintValue(value: unknown, validator: Validator): { checked: number; problems: Unplaced[]; object?: string } {
  if (!isObject(value)) {
    return {
      checked: 1,
      problems: [
        {
          code: lintErrors.KN1020.code,
          message: 'an object is a map with apiVersion, kind and metadata; this is none',
          pointer: '',
        },
      ],
    }
  }
  if (isTrust(value)) return { checked: 1, problems: trustProblems(value) }
  if (isRule(value)) {
    const definition = Object.hasOwn(value, 'conditions') ? value['conditions'] : value
    return {
      checked: 1,
      problems: ruleProblems('rule', definition, Object.hasOwn(value, 'conditions') ? '/conditions' : ''),
    }
  }
  if (Array.isArray(value['items']) && textOf(value['kind']).endsWith('List')) {
    const parts = value['items'].map((item) => lintValue(item, validator))
    return {
      checked: parts.reduce((n, p) => n + p.checked, 0),
      problems: parts.flatMap((p, i) => p.problems.map((x) => ({ ...x, pointer: `/items/${i}${x.pointer}` }))),
    }
  }
  const problems = isOurs(value) ? ownProblems(value, validator) : frameProblems(value)
  return {
    checked: 1,
    problems: problems.length > 0 ? problems : commitProblems(value),
    object: objectText(value),
  }
}

/** Not the start of an object: data for the code next to it. */
const isData = (v: unknown): boolean =>
  isObject(v) &&
  ['apiVersion', 'kind', 'metadata', 'spec'].every((field) => v[field] === undefined) &&
  !isRule(v) &&
  !isTrust(v)

function lintDocument(
  file: string,
  doc: ParsedDocument,
  validator: Validator,
): Pick<LintResult, 'checked' | 'findings' | 'objects'> {
  const { checked, problems, object } = lintValue(doc.value, validator)
  const findings = problems.map(({ pointer, ...problem }) => ({
    file,
    ...doc.placeOf(pointer),
    ...problem,
    pointer,
    ...defined({ object }),
  }))
  const isWrong = problems.some((p) => p.isWarning !== true)
  return { checked, findings, objects: isWrong ? [] : objectsOf(file, doc) }
}

/** An object that is invalid for its kind is not checked further. */
function objectsOf(file: string, document: ParsedDocument): readonly Placed[] {
  const { value } = document
  if (!isObject(value)) return []
  const isList = Array.isArray(value['items']) && textOf(value['kind']).endsWith('List')
  const items = isList ? (value['items'] as readonly unknown[]) : [value]
  return items.filter(isMeant).map((object, i) => ({
    file,
    object: object as unknown as KubeObject,
    placeOf: (pointer) => document.placeOf(isList ? `/items/${i}${pointer}` : pointer),
  }))
}

const isOurs = (v: unknown): v is Record<string, unknown> =>
  isObject(v) && textOf(v['apiVersion']).startsWith('kubenode.io/') && v['kind'] !== undefined

/** For other kinds only the object that agents receive is checked further. */
const isMeant = (v: unknown): v is Record<string, unknown> =>
  isOurs(v) || (isObject(v) && isObject(v['metadata']) && isAgentConfigMap(v))

const isKubeconfig = (v: unknown): boolean => isObject(v) && v['kind'] === 'Config' && v['apiVersion'] === 'v1'

export function lintText(given: LintFile, validator: Validator): LintResult {
  const { name: file, text, isNamed } = given
  const { documents, problems } = parseDocuments(text)
  const none = { data: 0, objects: [], trust: [], agentConfigs: [] }
  if (isAgentConfigFile(given, documents))
    return { ...none, checked: 1, agentConfigs: [text], findings: agentConfigFindings(given, documents) }
  if (documents.some((d) => isKubeconfig(d.value))) {
    const findings = safeKubeconfigProblems(text).map((p) => ({ file, object: 'Config', ...p }))
    return { ...none, checked: documents.length, findings }
  }
  const meant = isNamed ? documents : documents.filter((d) => !isData(d.value))
  const parts = meant.map((d) => lintDocument(file, d, validator))
  const unread = problems.map((p) => ({
    file,
    line: p.line,
    column: p.column,
    code: lintErrors.KN1014_syntax.code,
    message: `cannot be read: ${p.message}`,
  }))
  return {
    checked: parts.reduce((n, p) => n + p.checked, 0),
    data: documents.length - meant.length,
    objects: parts.flatMap((p) => p.objects),
    trust: meant.flatMap((d) => parseSignedTrust(d.value) ?? []),
    agentConfigs: [],
    findings: [...unread, ...parts.flatMap((p) => p.findings)],
  }
}

/** Conflicts and likely mistakes across all files. */
export function lintTogether(results: readonly LintResult[]): readonly Finding[] {
  const placed = results.flatMap((r) => r.objects)
  const trust = results.flatMap((r) => r.trust).toSorted((a, b) => b.document.sequence - a.document.sequence)[0]
  const of = new Map(placed.map((p) => [p.object, p]))
  const agentConfigs = results.flatMap((r) => r.agentConfigs)
  const problems = declaredProblems([...of.keys()], { trust, agentConfigs })
  return problems.flatMap(({ object, pointer, code, message, ...problem }) => {
    const at = of.get(object)
    if (at === undefined) return []
    const { file } = at
    const name = objectText(object)
    return [
      {
        file,
        ...at.placeOf(pointer),
        code,
        message,
        pointer,
        object: name,
        ...markOf(problem),
      },
    ]
  })
}
