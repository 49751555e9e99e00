// Applies a JSON merge patch (RFC 7386) as kube-apiserver does: maps merge, null deletes, everything else replaces; unchanged parts are shared.
import { goJsonKind } from '#lib/go-text.ts'
import { isObject, jsonEqual, setOwn } from '#lib/json.ts'
import { PatchError } from './patch-error.ts'

/** Throws PatchError when the patch is not a map. Returns the target itself when nothing changes. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (patch === null) throw new PatchError('NotAPatch', 'Invalid JSON Patch')
  if (!isObject(patch)) {
    const reason = `json: cannot unmarshal ${goJsonKind(patch)} into Go value of type map[string]interface {}`
    throw new PatchError('NotAPatch', `error decoding patch: ${reason}`)
  }
  return mergeInto(target, patch)
}

function mergeInto(target: unknown, patch: unknown): unknown {
  if (!isObject(target)) return withoutNulls(patch)
  if (!isObject(patch)) return jsonEqual(target, patch) ? target : patch
  let out: Record<string, unknown> | undefined
  for (const key of Object.keys(patch)) {
    const before = Object.hasOwn(target, key) ? target[key] : undefined
    const wanted = patch[key]
    if (wanted === null || wanted === undefined) {
      if (!Object.hasOwn(target, key)) continue
      out ??= { ...target }
      delete out[key]
      continue
    }
    const after = mergeInto(before, wanted)
    if (before !== undefined && (after === before || (!isObject(after) && jsonEqual(before, after)))) continue
    out ??= { ...target }
    setOwn(out, key, after)
  }
  return out ?? target
}

/** Nulls in a part that is new mean nothing, also in maps inside lists; a null item of a list stays. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutNulls)
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (!isObject(value)) return value
  const keys = Object.keys(value)
  const kept = keys.filter((k) => value[k] !== null && value[k] !== undefined)
  let changed = kept.length !== keys.length
  const out = {}
  for (const key of kept) {
    const inner = withoutNulls(value[key])
    changed ||= inner !== value[key]
    setOwn(out, key, inner)
  }
  return changed ? out : value
}
