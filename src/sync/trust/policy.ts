// What a FleetSource and the signers file of its last verified commit require of commits. Pure. An unusable policy is a problem, never a looser policy.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { parseCertificate, type PgpCertificate, type PgpSigningKey } from './openpgp/certificate.ts'
import { parseSshKey } from './ssh-key.ts'
import { Malformed } from './ssh-wire.ts'
import { defined } from '#lib/defined.ts'

type Verify = NonNullable<FleetSource['spec']['verify']>
type SignerSpec = NonNullable<Verify['signers']>[number]

export type Mode = 'Head' | 'FirstParent' | 'All'

export interface Signer {
  readonly principal: string
  /** Undefined: everything. */
  readonly paths?: readonly string[]
  readonly since?: number
  readonly until?: number
  readonly isForge: boolean
  readonly onlyReverts: boolean
  /** The key that sync signs reverts with. */
  readonly isSync: boolean
  /** Fingerprints; PRIMARY/SUBKEY for an OpenPGP subkey. */
  readonly keys: readonly string[]
}

type Threshold = NonNullable<Verify['thresholds']>[number]
type RevokedKey = NonNullable<Verify['revoked']>[number]

export interface Policy {
  readonly mode: Mode
  readonly anchor: string
  /** By key name. */
  readonly byKey: ReadonlyMap<string, Signer>
  readonly signers: readonly Signer[]
  /** OpenPGP keys only. */
  readonly pgpKeys: readonly PgpSigningKey[]
  /** When OpenPGP keys expire, according to their certificates. */
  readonly ends: ReadonlyMap<string, number>
  /** Fingerprint to the time from which the key is refused. */
  readonly revoked: ReadonlyMap<string, number>
  readonly thresholds: readonly Threshold[]
  readonly signersFile?: string
}

/** What a commit's signers file adds. */
export type SignersDocument = Pick<Verify, 'signers' | 'revoked' | 'thresholds'>

export class UnusablePolicy extends Error {
  override readonly name = 'UnusablePolicy'
}

export const isVerified = (source: FleetSource): boolean => modeOf(source) !== undefined

/** Undefined: commits are not verified. */
function modeOf({ spec: { verify } }: FleetSource): Mode | undefined {
  const mode = verify?.mode ?? 'Off'
  return mode === 'Off' || mode === 'None' ? undefined : mode
}

/** Reading a certificate verifies its signatures, so a caller may cache the result. */
export type ReadCertificate = (armored: string) => Promise<PgpCertificate>

export async function policyOf(
  verify: Verify,
  file: SignersDocument | undefined,
  read: ReadCertificate = parseCertificate,
): Promise<Policy> {
  const { mode, anchor } = verify
  if (mode === 'Off' || mode === 'None' || anchor === undefined) throw new UnusablePolicy('it has no anchor')
  const specs = [...(verify.signers ?? []), ...(file?.signers ?? [])]
  const byKey = new Map<string, Signer>()
  const certificates: PgpCertificate[] = []
  const keep: ReadCertificate = async (text) => {
    const found = await read(text)
    certificates.push(found)
    return found
  }
  const signers: Signer[] = []
  for (const spec of specs) signers.push(await signerOf(spec, keep))
  for (const signer of signers) {
    for (const key of signer.keys) {
      const other = byKey.get(key)
      // Otherwise one person would count as two, or the order would decide which rights apply.
      if (other !== undefined)
        throw new UnusablePolicy(`the key ${key} is that of ${other.principal} and of ${signer.principal}`)
      byKey.set(key, signer)
    }
  }
  const names = signers.map((s) => s.principal)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new UnusablePolicy(`${twice} is a signer of the FleetSource and of its signers file`)
  const pgpKeys = certificates.flatMap((c) => c.keys)
  const { signersFile } = verify
  const own = signersFile === undefined ? [] : [{ paths: [signersFile.path], count: signersFile.count }]
  return {
    mode,
    anchor,
    byKey,
    signers,
    pgpKeys,
    ends: new Map(pgpKeys.flatMap((k) => (k.until === undefined ? [] : [[k.name, k.until]]))),
    revoked: revokedKeys([
      ...(verify.revoked ?? []),
      ...(file?.revoked ?? []),
      ...certificates.flatMap((c) => c.revoked.map((key) => ({ key }))),
    ]),
    thresholds: [
      ...(verify.thresholds ?? []),
      ...(file?.thresholds ?? []),
      // A count of one is the signer itself, unless its key is an emergency key.
      ...own.filter(({ count }) => count > 1 || signers.some((signer) => signer.onlyReverts)),
    ],
    ...(signersFile !== undefined && { signersFile: signersFile.path }),
  }
}

const PGP_BLOCK = /^\s*-----BEGIN PGP/

async function signerOf(spec: SignerSpec, read: ReadCertificate): Promise<Signer> {
  const { principal, keys, paths, since, until, forge, reverts, sync } = spec
  const fingerprints: string[] = []
  for (const key of keys)
    try {
      if (PGP_BLOCK.test(key)) fingerprints.push(...(await read(key)).keys.map((k) => k.name))
      else fingerprints.push(parseSshKey(key).fingerprint)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      throw new UnusablePolicy(`a key of ${principal} ${error.message}`)
    }
  return {
    principal,
    keys: fingerprints,
    isForge: forge === true,
    onlyReverts: reverts === true,
    isSync: sync === true,
    ...defined({ paths }),
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
  }
}

/** If a key has two entries, the earlier time counts. */
function revokedKeys(all: readonly RevokedKey[]): ReadonlyMap<string, number> {
  const revoked = new Map<string, number>()
  for (const { key, since } of all) {
    const from = since === undefined ? -Infinity : Date.parse(since)
    revoked.set(key, Math.min(from, revoked.get(key) ?? Infinity))
  }
  return revoked
}

/** Whether the changed paths of commits must be read at all. */
export const needsPaths = ({ signers, thresholds }: Policy): boolean =>
  thresholds.length > 0 || signers.some((s) => s.paths !== undefined)

/** An OpenPGP subkey is named with its primary key. An SSH fingerprint is base64 and may contain a slash of its own. */
const fingerprintsIn = (key: string): readonly string[] => (key.startsWith('SHA256:') ? [key] : key.split('/'))

/** Why the key must not be used at this time; undefined when it may. */
export function keyProblem(policy: Policy, key: string, at: number): KeyProblem | undefined {
  const revoked = fingerprintsIn(key).flatMap((part) => policy.revoked.get(part) ?? [])
  const since = Math.min(...revoked)
  if (at >= since) return { kind: 'Revoked', since }
  const signer = policy.byKey.get(key)
  if (signer === undefined) return { kind: 'Unknown' }
  if (signer.since !== undefined && at < signer.since) return { kind: 'Early', since: signer.since }
  const until = Math.min(signer.until ?? Infinity, policy.ends.get(key) ?? Infinity)
  if (at >= until) return { kind: 'Late', until }
  return undefined
}

export type KeyProblem =
  | { readonly kind: 'Revoked'; readonly since: number }
  | { readonly kind: 'Unknown' }
  | { readonly kind: 'Early'; readonly since: number }
  | { readonly kind: 'Late'; readonly until: number }
