// Validates names, labels, annotations, finalizers and owner references, in the words of a kube-apiserver.
import { invalid, required, type FieldError } from '../schema/field-error.ts'
import {
  labelNameProblems,
  label1035Problems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from '#api/schema/name-problems.ts'
import type { NameRule } from '../builtin/kind.ts'

function pathSegmentProblems(name: string): readonly string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return [...name].filter((c) => c === '/' || c === '%').map((c) => `may not contain '${c}'`)
}

/** A name that is invalid as a label only for its dots gets only that message. */
const dotless =
  (problems: (name: string) => readonly string[]) =>
  (name: string): readonly string[] =>
    name.includes('.') && subdomainProblems(name).length === 0 ? ['must not contain dots'] : problems(name)

const RULES: Readonly<Record<NameRule, (name: string) => readonly string[]>> = {
  subdomain: subdomainProblems,
  label: dotless(labelNameProblems),
  label1035: dotless(label1035Problems),
  pathSegment: pathSegmentProblems,
}

export const nameProblems = (rule: NameRule, name: string): readonly string[] => RULES[rule](name)

/** A prefix may end in a dash, which the random letters cover. */
export const generateNameProblems = (rule: NameRule, prefix: string): readonly string[] =>
  RULES[rule](prefix.endsWith('-') ? `${prefix.slice(0, -1)}a` : prefix)

export function labelProblems(labels: { readonly [key: string]: string }, field: string): readonly FieldError[] {
  const out: FieldError[] = []
  for (const [key, value] of Object.entries(labels)) {
    out.push(...qualifiedNameProblems(key, 'a valid label key').map((p) => invalid(field, key, p)))
    out.push(...labelValueProblems(value).map((p) => invalid(field, value, p)))
  }
  return out
}

export const nameRequired = (field: string): FieldError => required(field, 'name or generateName is required')
