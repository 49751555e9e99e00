// An object after one mutation of a policy: the result of its expression merged into it, or applied to it as a JSON patch.
import { isObject } from '#lib/json.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { DecodeError } from '../codec/typed.ts'
import {
  applyJsonPatch,
  atomicFields,
  celToJson,
  FailedTest,
  mergeConfiguration,
  misplacedTypes,
  PatchError,
  problemsText,
  typeProblems,
  type CelValue,
} from '../machinery.ts'
import type { Served } from '../registry/served.ts'
import type { CompiledMutation } from './compiled-mutations.ts'

export type Mutated =
  | { readonly ok: true; readonly object: KubeObject }
  /** The policy is at fault: its failure policy decides. */
  | { readonly ok: false; readonly error: string }

const failed = (error: string): Mutated => ({ ok: false, error })

export function mutatedBy(
  { patchType }: CompiledMutation,
  value: CelValue,
  { served, object }: { readonly served: Served; readonly object: KubeObject },
): Mutated {
  const misplaced = patchType === 'ApplyConfiguration' ? misplacedTypes(value) : []
  if (misplaced.length > 0) return failed(`type mismatch: ${misplaced.join('\n')}`)
  const made = celToJson(value)
  if (!made.ok) return failed(made.error)
  const patched = patchType === 'ApplyConfiguration' ? merged(served, object, made.json) : operated(object, made.json)
  return patched.ok && patched.object !== object ? readAs(served, patched.object) : patched
}

/** An atomic value cannot be merged into: its other fields would be lost. */
function merged(served: Served, object: KubeObject, json: unknown): Mutated {
  const { group, version, kind } = served.type
  const patch = { ...(isObject(json) ? json : {}), apiVersion: apiVersionOf({ group, version }), kind }
  const problems = typeProblems(served.schema, patch)
  if (problems.length > 0)
    return failed(`error applying patch: failed to convert patch object to typed object: ${problemsText(problems)}`)
  const atomic = atomicFields(served.schema, patch)
  if (atomic.length > 0)
    return failed(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    )
  return { ok: true, object: mergeConfiguration(served.schema, object, patch) as KubeObject }
}

/** A test that fails leaves the object alone; every other operation that fails is a fault. */
function operated(object: KubeObject, json: unknown): Mutated {
  try {
    const patched = applyJsonPatch(object, json)
    return isObject(patched)
      ? { ok: true, object: patched as KubeObject }
      : failed('JSON Patch: the patch makes no object')
  } catch (e) {
    if (e instanceof FailedTest) return { ok: true, object }
    if (e instanceof PatchError) return failed(`JSON Patch: ${e.message}`)
    throw e
  }
}

function readAs(served: Served, object: KubeObject): Mutated {
  try {
    const { behaviour } = served
    return { ok: true, object: behaviour.applyDefaults(behaviour.decode(object).object) }
  } catch (e) {
    if (e instanceof DecodeError) return failed(e.message)
    throw e
  }
}
