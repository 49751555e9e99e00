// `kubenode get --sort-by`: objects in the order of one field, as kubectl has it: objects without the field first, numbers by value. Pure.
import { InvalidArgumentError } from 'commander'
import type { KubeObject } from '#api/schema/object.ts'
import { valuesAt } from './jsonpath.ts'
import { type Step, TemplateProblem, parsePath } from './jsonpath-parse.ts'

/** `.metadata.name`, `metadata.name` and `{.metadata.name}` are the same. */
export function sortPath(text: string): readonly Step[] {
  try {
    return parsePath(text)
  } catch (e) {
    if (e instanceof TemplateProblem) throw new InvalidArgumentError(`${e.message}; write .metadata.creationTimestamp`)
    throw e
  }
}

export const sortedBy = <T extends KubeObject>(objects: readonly T[], path: readonly Step[]): readonly T[] =>
  objects
    .map((object) => ({ object, value: valuesAt(path, object)[0] }))
    .toSorted((a, b) => compare(a.value, b.value))
    .map(({ object }) => object)

function compare(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [x, y] = [a, b].map((v) => (typeof v === 'string' ? v : JSON.stringify(v)))
  return x === y ? 0 : (x ?? '') < (y ?? '') ? -1 : 1
}

export const keyOfObject = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
