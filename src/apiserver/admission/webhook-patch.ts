// An object after the JSON patch of a mutating webhook: read as its kind, with defaults, its managedFields still readable.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Draft } from '../builtin/kind.ts'
import { DecodeError } from '../codec/typed.ts'
import { parseJson } from '../codec/json.ts'
import { applyJsonPatch, PatchError } from '../machinery.ts'
import type { Served } from '../registry/served.ts'
import { internalError } from '../status/refusal.ts'

export interface Patching {
  readonly as: Served
  readonly object: KubeObject
  /** Base64 of a JSON patch. */
  readonly patch: string
  readonly warn: (text: string) => void
}

/** A patch that cannot be applied is a webhook error that no failure policy ignores. */
export function patchedBy(webhook: string, { as, object, patch, warn }: Patching): Draft {
  const value = applied(webhook, object, patch)
  try {
    const decoded = as.behaviour.applyDefaults(as.behaviour.decode(value).object)
    const { managedFields } = decoded.metadata
    if (managedFields === undefined || managedFields.every(isReadable)) return decoded
    warn(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: webhook ${JSON.stringify(webhook)}`,
    )
    return { ...decoded, metadata: { ...decoded.metadata, managedFields: object.metadata.managedFields ?? [] } }
  } catch (e) {
    if (e instanceof DecodeError) throw internalError(e.message)
    throw e
  }
}

function applied(webhook: string, object: KubeObject, patch: string): Record<string, unknown> {
  try {
    const value = applyJsonPatch(object, parseJson(Buffer.from(patch, 'base64').toString('utf8')))
    if (isObject(value)) return value
  } catch (e) {
    if (e instanceof PatchError) throw internalError(e.statusMessage)
    if (!(e instanceof SyntaxError)) throw e
  }
  throw internalError(`the patch of admission webhook ${JSON.stringify(webhook)} makes no object`)
}

const isReadable = (entry: unknown): boolean =>
  isObject(entry) &&
  (entry['operation'] === 'Apply' || entry['operation'] === 'Update') &&
  typeof entry['apiVersion'] === 'string' &&
  entry['apiVersion'] !== '' &&
  entry['fieldsType'] === 'FieldsV1'
