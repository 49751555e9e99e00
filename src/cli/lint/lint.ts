// What is wrong with documents that people wrote: objects of ours, rules, kubeconfigs, and the frame of every other object.
import { parseDocuments } from '#lib/documents.ts'
import type { ParsedDocument } from '#lib/documents.ts'
import type { ErrorCode } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { KINDS, kindNamed } from '#api/kinds.ts'
import { formatProblem } from '#api/problem.ts'
import { parseSignedTrust } from '#api/trust/trust-document.ts'
import type { Validator } from '#api/validate.ts'
import { safeKubeconfigProblems } from '#kube/kubeconfig-safe.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { describeProblem } from '#policy/problem.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { LintFile } from './files.ts'
import { cliErrors } from '../cli-errors.ts'

export interface Finding {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: ErrorCode
  readonly message: string
  /** `MachineSet/web`, where there is an object. */
  readonly object?: string
  readonly pointer?: string
}

interface Unplaced {
  readonly code: ErrorCode
  readonly message: string
  readonly pointer: string
}

export interface LintResult {
  readonly findings: readonly Finding[]
  /** Objects, rules and kubeconfigs that were looked at. */
  readonly looked: number
  /** Documents that are nothing of the API: values that the code beside them reads. */
  readonly data: number
}

const isRule = (v: Record<string, unknown>): boolean =>
  v['kind'] === undefined && ['all', 'any', 'not', 'conditions'].some((k) => Object.hasOwn(v, k))

/** A map in the place of a word is no word; it may not even have a text. */
const word = (v: unknown): string => (typeof v === 'string' ? v : '')

const nameOf = (v: Record<string, unknown>): string => {
  const meta = v['metadata']
  const name = isObject(meta) ? (meta['name'] ?? meta['generateName']) : undefined
  return `${word(v['kind']) || 'object'}/${word(name) || '?'}`
}

/** Problems that carry `KN….: ` in their text lose it: the number stands in a column of its own. */
const withoutCode = (text: string): string => text.replace(/^KN\d+: /, '')

function ruleProblems(name: string, definition: unknown, pointer: string): Unplaced[] {
  const compiled = compileRule(name, definition, nodeVocabulary())
  if (compiled.ok) return []
  return compiled.problems.map((p) => ({
    code: p.code,
    message: withoutCode(describeProblem(p)),
    pointer: pointer + p.pointer,
  }))
}

function ownProblems(value: Record<string, unknown>, validator: Validator): Unplaced[] {
  const kind = kindNamed(word(value['kind']))
  if (kind === undefined) {
    const near = didYouMean(
      word(value['kind']),
      KINDS.map((k) => k.kind),
    )
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    return [
      {
        code: cliErrors.KN1021.code,
        message: `no kind ${JSON.stringify(value['kind'])} in ${API_GROUP_VERSION}${hint}`,
        pointer: '/kind',
      },
    ]
  }
  const shape = validator
    .problems(kind, value)
    .map((p) => ({ code: p.code, message: withoutCode(formatProblem(p)), pointer: p.pointer }))
  const spec = value['spec']
  // A rule that has no proper shape is not asked what it means.
  if (kind.kind !== 'NodeRemedier' || shape.length > 0 || !isObject(spec)) return shape
  return ruleProblems(nameOf(value), spec['when'], '/spec/when')
}

/** A trust document is no object of the API; it lies beside the components that it speaks of. */
const isTrust = (v: Record<string, unknown>): boolean =>
  v['apiVersion'] === undefined && isObject(v['document']) && Array.isArray(v['signatures'])

const trustProblems = (v: Record<string, unknown>): Unplaced[] =>
  parseSignedTrust(v) === undefined
    ? [
        {
          code: cliErrors.KN1024.code,
          message: 'this is no trust document; make one with kubenode artifact keys trust',
          pointer: '/document',
        },
      ]
    : []

function frameProblems(value: Record<string, unknown>): Unplaced[] {
  const out: Unplaced[] = []
  for (const field of ['apiVersion', 'kind'] as const) {
    if (typeof value[field] !== 'string' || value[field] === '') {
      out.push({
        code: cliErrors.KN1022.code,
        message: `every object names its ${field}; this one does not`,
        pointer: `/${field}`,
      })
    }
  }
  const meta = value['metadata']
  const named = isObject(meta) && (typeof meta['name'] === 'string' || typeof meta['generateName'] === 'string')
  if (out.length === 0 && !named) {
    out.push({
      code: cliErrors.KN1023.code,
      message: `${word(value['kind'])} has no metadata.name; give it one`,
      pointer: '/metadata',
    })
  }
  return out
}

/** What is wrong with one value, and how many things it holds. */
function lintValue(value: unknown, validator: Validator): { looked: number; problems: Unplaced[]; object?: string } {
  if (!isObject(value)) {
    return {
      looked: 1,
      problems: [
        {
          code: cliErrors.KN1020.code,
          message: 'an object is a map with apiVersion, kind and metadata; this is none',
          pointer: '',
        },
      ],
    }
  }
  if (isTrust(value)) return { looked: 1, problems: trustProblems(value) }
  if (isRule(value)) {
    const definition = Object.hasOwn(value, 'conditions') ? value['conditions'] : value
    return {
      looked: 1,
      problems: ruleProblems('rule', definition, Object.hasOwn(value, 'conditions') ? '/conditions' : ''),
    }
  }
  if (Array.isArray(value['items']) && word(value['kind']).endsWith('List')) {
    const parts = value['items'].map((item) => lintValue(item, validator))
    return {
      looked: parts.reduce((n, p) => n + p.looked, 0),
      problems: parts.flatMap((p, i) => p.problems.map((x) => ({ ...x, pointer: `/items/${i}${x.pointer}` }))),
    }
  }
  const isOurs = word(value['apiVersion']).startsWith('kubenode.io/') && value['kind'] !== undefined
  return { looked: 1, problems: isOurs ? ownProblems(value, validator) : frameProblems(value), object: nameOf(value) }
}

/** Nothing that an object begins with: beside code that reads it, it is data. */
const isData = (v: unknown): boolean =>
  isObject(v) &&
  ['apiVersion', 'kind', 'metadata', 'spec'].every((field) => v[field] === undefined) &&
  !isRule(v) &&
  !isTrust(v)

function lintDocument(file: string, doc: ParsedDocument, validator: Validator): Omit<LintResult, 'data'> {
  const { looked, problems, object } = lintValue(doc.value, validator)
  const findings = problems.map(({ code, message, pointer }) => ({
    file,
    ...doc.placeOf(pointer),
    code,
    message,
    pointer,
    ...(object === undefined ? {} : { object }),
  }))
  return { looked, findings }
}

const isKubeconfig = (v: unknown): boolean => isObject(v) && v['kind'] === 'Config' && v['apiVersion'] === 'v1'

export function lintText({ name: file, text, isNamed }: LintFile, validator: Validator): LintResult {
  const { documents, problems } = parseDocuments(text)
  if (documents.some((d) => isKubeconfig(d.value))) {
    const findings = safeKubeconfigProblems(text).map((p) => ({ file, object: 'Config', ...p }))
    return { looked: documents.length, data: 0, findings }
  }
  const meant = isNamed ? documents : documents.filter((d) => !isData(d.value))
  const parts = meant.map((d) => lintDocument(file, d, validator))
  const unread = problems.map((p) => ({
    file,
    line: p.line,
    column: p.column,
    code: cliErrors.KN1015.code,
    message: `cannot be read: ${p.message}`,
  }))
  return {
    looked: parts.reduce((n, p) => n + p.looked, 0),
    data: documents.length - meant.length,
    findings: [...unread, ...parts.flatMap((p) => p.findings)],
  }
}
