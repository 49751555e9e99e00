// A component's signed statement: its whole spec without the signatures. A verified statement defines what to fetch, run and probe.
import { canonicalJson, isObject, jsonEqual } from '#lib/json.ts'
import type { Schema } from '../schema/schema.ts'
import { machineComponent } from '../kinds/machine-component.ts'
import type { MachineComponent, MachineComponentSpec } from '../kinds/machine-component.ts'
import { signersOf } from './keys.ts'
import type { Signature, Signer } from './keys.ts'
import { floorProblem, signersText } from './trust-document.ts'
import type { TrustDocument } from './trust-document.ts'
import { sha256Hex } from '#lib/sha256.ts'

export type StatementVerdict = { readonly kind: 'Trusted' } | { readonly kind: 'Refused'; readonly reason: string }

/**
 * The value without its schema's defaults. A server adds defaults to what was signed, and later schema versions add fields with defaults: neither may change
 * the signed bytes.
 */
function withoutDefaults(schema: Schema | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((v) => withoutDefaults(schema?.items, v))
  if (!isObject(value)) return value
  const of = (key: string): Schema | undefined => {
    if (schema?.properties !== undefined && Object.hasOwn(schema.properties, key)) return schema.properties[key]
    return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined
  }
  const kept = Object.keys(value).flatMap((key): [string, unknown][] => {
    const inner = withoutDefaults(of(key), value[key])
    const filled = of(key)?.default
    return filled !== undefined && jsonEqual(inner, withoutDefaults(of(key), filled)) ? [] : [[key, inner]]
  })
  return Object.fromEntries(kept)
}

export function statementBytes(spec: MachineComponentSpec): Buffer {
  const { signatures: _signatures, ...statement } = spec
  return Buffer.from(canonicalJson(withoutDefaults(machineComponent.schema.properties?.['spec'], statement)))
}

/** Identifies a statement: equal specs have equal digests, regardless of the signer. */
export const statementDigest = (spec: MachineComponentSpec): string => sha256Hex(statementBytes(spec))

/** Definitions never change and are compared often: compute each object's digest once. */
const DIGESTS = new WeakMap<MachineComponent, string>()

export function definitionDigest(definition: MachineComponent): string {
  const digest = DIGESTS.get(definition) ?? statementDigest(definition.spec)
  DIGESTS.set(definition, digest)
  return digest
}

export function signStatement(spec: MachineComponentSpec, signer: Signer): MachineComponentSpec {
  const signature: Signature = signer.sign(statementBytes(spec))
  const others = (spec.signatures ?? []).filter((s) => s.keyId !== signature.keyId)
  return { ...spec, signatures: [...others, signature] }
}

/** Whether the current trust document allows installing this component now. */
export function judgeStatement(spec: MachineComponentSpec, trust: TrustDocument, now: number): StatementVerdict {
  const refused = (reason: string): StatementVerdict => ({ kind: 'Refused', reason })
  if (Date.parse(trust.expires) <= now) return refused(`the trust document expired at ${trust.expires}`)
  const signers = signersOf(statementBytes(spec), spec.signatures ?? [], trust.keys)
  if (signers.size < trust.threshold) {
    const by = signersText(trust.keys, spec.signatures ?? [], signers)
    return refused(
      `signed by ${signers.size} of ${trust.threshold} required keys of trust sequence ${trust.sequence}: ${by}`,
    )
  }
  const revoked = (spec.artifacts ?? []).find((a) => trust.revoked.includes(a.sha256))
  if (revoked !== undefined) return refused(`the digest ${revoked.sha256.slice(0, 12)}… of ${revoked.url} is revoked`)
  const floor = floorProblem(trust, spec.component, spec.version)
  return floor === undefined ? { kind: 'Trusted' } : refused(floor)
}
