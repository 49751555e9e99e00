// Counts in the status of workloads: none below zero, no part larger than its whole.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { invalid, type FieldProblem } from './field-problem.ts'

/** `parts` of `status.replicas`, and ready ones that bound the available. */
export function replicaCountProblems(o: KubeObject, parts: readonly string[]): FieldProblem[] {
  const status = isObject(o['status']) ? o['status'] : {}
  const count = (field: string): number => (typeof status[field] === 'number' ? status[field] : 0)
  const whole = ['replicas', ...parts]
  const negative = whole
    .filter((f) => count(f) < 0)
    .map((f) => invalid(`status.${f}`, count(f), 'must be greater than or equal to 0'))
  const larger = parts
    .filter((f) => count(f) > count('replicas'))
    .map((f) => invalid(`status.${f}`, count(f), 'cannot be greater than status.replicas'))
  const available = count('availableReplicas')
  const unready =
    parts.includes('availableReplicas') && available > count('readyReplicas')
      ? [invalid('status.availableReplicas', available, 'cannot be greater than readyReplicas')]
      : []
  return [...negative, ...larger, ...unready]
}
