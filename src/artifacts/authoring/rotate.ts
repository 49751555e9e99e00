// Replaces a fleet's signing keys: creates a new key and the next trust document, and re-signs every statement that the old keys signed. Writes nothing until
// all of it verifies.
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MachineComponentInput, MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { Signer, generateKey, type PublicKey } from '#api/trust/keys.ts'
import { judgeStatement, signStatement } from '#api/trust/statement.ts'
import { anchorOf, judgeTrust, parseSignedTrust, trustBytes } from '#api/trust/trust-document.ts'
import type { SignedTrust, TrustDocument } from '#api/trust/trust-document.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { artifactErrors } from './artifact-errors.ts'
import { readJson, readStatement, readText, writeJson } from './statement-file.ts'

export interface RotateOptions {
  /** Folder with the statements and, below `trust/`, the document. */
  readonly components: string
  /** Path of the new private key; an existing one is used. */
  readonly newKey: string
  /** Private keys of the current document, as far as available. */
  readonly oldKeys: readonly string[]
  /** Key ids that stay trusted. */
  readonly keep: readonly string[]
  readonly expires: string
  readonly now: number
}

export interface Rotated {
  readonly trustPath: string
  readonly sequence: number
  readonly key: PublicKey
  readonly statements: readonly string[]
  /** Agents with the old document accept the new one automatically. */
  readonly isAccepted: boolean
}

interface Resigned {
  readonly path: string
  readonly statement: MachineComponentInput
}

export function rotateKeys(options: RotateOptions): Rotated {
  const { components, newKey, oldKeys, now } = options
  const trustPath = join(components, 'trust', 'trust.json')
  const before = documentAt(trustPath)
  const isNew = !existsSync(newKey)
  const pem = isNew ? generateKey().pem : readText(newKey, 'signing key')
  const signer = new Signer(pem)
  const document = nextDocument(before.document, signer.publicKey, options)
  const signers = [...oldKeys.map((path) => new Signer(readText(path, 'signing key'))), signer]
  const signed: SignedTrust = { document, signatures: signers.map((s) => s.sign(trustBytes(document))) }
  requireGood(judgeTrust({ ...anchorOf(document), sequence: 0 }, signed, now), trustPath)
  const resigned = statementsIn(components).flatMap((path) => resignedAt(path, before.document, document, signer, now))
  if (isNew) writeFileSync(newKey, pem, { mode: 0o600, flag: 'wx' })
  // Statements first: their old signatures still verify with the old document.
  for (const { path, statement } of resigned) writeJson(path, statement)
  writeJson(trustPath, signed)
  const isAccepted = judgeTrust(anchorOf(before.document), signed, now).kind === 'Accepted'
  const { sequence } = document
  return { trustPath, sequence, key: signer.publicKey, statements: resigned.map((r) => r.path), isAccepted }
}

function documentAt(path: string): SignedTrust {
  const signed = parseSignedTrust(readJson(path, 'trust document'))
  if (signed === undefined) throw new KubeNodeError(artifactErrors.KN1024_used({ trust: path }))
  return signed
}

function requireGood(verdict: ReturnType<typeof judgeTrust>, path: string): void {
  if (verdict.kind === 'Refused')
    throw new KubeNodeError(artifactErrors.KN1024_damaged({ trust: path, why: verdict.reason }))
}

function nextDocument(before: TrustDocument, key: PublicKey, { keep, expires }: RotateOptions): TrustDocument {
  const unknown = keep.find((id) => !before.keys.some((k) => k.keyId === id))
  if (unknown !== undefined)
    throw new KubeNodeError(
      artifactErrors.KN1002_trust({
        unknown,
        sequence: before.sequence,
        known: before.keys.map((k) => k.keyId).join(', '),
      }),
    )
  const kept = before.keys.filter((k) => keep.includes(k.keyId) && k.keyId !== key.keyId)
  return { ...before, sequence: before.sequence + 1, expires, keys: [...kept, key] }
}

const statementsIn = (components: string): readonly string[] =>
  readdirSync(components)
    .filter((f) => f.endsWith('.json'))
    .toSorted()
    .map((f) => join(components, f))

/** Re-signs only trusted statements: a rotation must not approve files that an attacker added. */
function resignedAt(
  path: string,
  before: TrustDocument,
  after: TrustDocument,
  signer: Signer,
  now: number,
): readonly Resigned[] {
  const statement = readStatement(path)
  const spec = statement.spec as MachineComponentSpec
  if ((spec.signatures ?? []).length === 0) return []
  // An expired document, or one that revokes this version, does not invalidate signatures already made with its keys.
  const verdict = judgeStatement(spec, { ...before, expires: after.expires, revoked: [], floors: {} }, now)
  if (verdict.kind === 'Refused') throw new KubeNodeError(artifactErrors.KN1111({ path, why: verdict.reason }))
  const signed = signStatement(spec, signer)
  const signatures = (signed.signatures ?? []).filter((s) => after.keys.some((k) => k.keyId === s.keyId))
  return [{ path, statement: { ...statement, spec: { ...signed, signatures } } }]
}
