// Whether a source's newest commit may be followed. Inputs: the policy from the hub and from the last verified commit, the heads observed before, and
// the approvers.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { fleetSource, MAX_SEEN, type FleetSource } from '#api/kinds/fleet-source.ts'
import type { Validator } from '#api/validate.ts'
import { formatProblem } from '#api/problem.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { timestamp, type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, KubeNodeError, numbered } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { syncErrors } from '../../sync-errors.ts'
import type { ObjectReader } from '../../trust/commit-facts.ts'
import {
  keyProblem,
  policyOf,
  UnusablePolicy,
  type Policy,
  type ReadCertificate,
  type SignersDocument,
} from '../../trust/policy.ts'
import { parseCertificate, type PgpCertificate } from '../../trust/openpgp/certificate.ts'
import { RangeVerifier } from '../../trust/verify-range.ts'
import { readSignersFile, type SignersFile } from './signers-file.ts'
import type { LastVerified, SeenHeads, Trust } from './trust-seen.ts'
import { sha256OfJson } from '#lib/sha256.ts'

export interface TrustQuestion {
  readonly source: FleetSource
  readonly repository: ObjectReader
  readonly head: string
  /** Users who approved each digest. */
  readonly approved: ReadonlyMap<string, ReadonlySet<string>>
  readonly now: number
  readonly signal: AbortSignal
}

/** What users approve when they agree to a commit: it belongs to this source, not to a later one with the same name. */
export function commitDigest({ metadata }: Pick<FleetSource, 'metadata'>, commit: string): string {
  const { namespace = '', name = '', uid = '' } = metadata
  return sha256OfJson({ kind: 'Commit', source: `${namespace}/${name}`, uid, commit })
}

export class Verification {
  readonly #ranges: RangeVerifier
  readonly #validator: Validator
  readonly #certificates = new Map<string, PgpCertificate>()

  constructor(clock: Clock, validator: Validator) {
    this.#ranges = new RangeVerifier(clock)
    this.#validator = validator
  }

  /** Only for a source that verifies commits. */
  async judge(question: TrustQuestion): Promise<Trust> {
    const { source, head, now } = question
    const { anchor = '' } = source.spec.verify ?? {}
    const before = source.status?.verified
    const last = before?.anchor === anchor ? before : undefined
    const seen = seenHeads(source.status?.seen ?? [], head, now)
    const kept = { head, seen, ...defined({ verified: last }) }
    try {
      if (last?.commit === head) return await this.#still(question, last, seen)
      const first = { commit: anchor, anchor, firstSeen: timestamp(now) }
      if (last === undefined && head === anchor) return { kind: 'Verified', head, verified: first, commits: 0 }
      const from = last?.commit ?? anchor
      let verdict = await this.#range(question, from, seen)
      // The hub pins a commit older than the last one: judge everything after the anchor again.
      const isPinned = source.spec.ref.commit !== undefined && from !== anchor
      if (verdict.kind === 'Refused' && verdict.reason === 'HistoryRewritten' && isPinned) {
        if (head === anchor) return { kind: 'Verified', head, verified: first, commits: 0 }
        verdict = await this.#range(question, anchor, seen)
      }
      if (verdict.kind === 'Running') return { kind: 'Running', done: verdict.done, total: verdict.total, ...kept }
      if (verdict.kind === 'Refused') {
        const digest = verdict.reason === 'ApprovalsMissing' ? { digest: commitDigest(source, head) } : {}
        return { kind: 'Refused', reason: verdict.reason, message: numbered(verdict.message), ...digest, ...kept }
      }
      const { commits, key, principal, firstSeen } = verdict
      const at = timestamp(firstSeen)
      return {
        kind: 'Verified',
        head,
        commits,
        verified: { commit: head, anchor, from, commits, principal, key, firstSeen: at },
      }
    } catch (error) {
      // Unknown blocks: an unreadable commit is not verified.
      if (isKubeNodeError(error)) {
        const reason = error.code === 'KN7043' ? 'InvalidPolicy' : 'Unreadable'
        return { kind: 'Refused', reason, message: error.message, ...kept }
      }
      if (!(error instanceof UnusablePolicy)) throw error
      const message = numbered(syncErrors.KN7042({ source: namespacedName(source), why: error.message }))
      return { kind: 'Refused', reason: 'InvalidPolicy', message, ...kept }
    }
  }

  /** The commit in force was verified. Its key may have been revoked since, effective before the commit was first observed. */
  async #still(question: TrustQuestion, last: LastVerified, seen: SeenHeads): Promise<Trust> {
    const { head } = question
    const policy = await this.#policyAt(question, last.commit)
    const [key, at] = [last.key, Date.parse(last.firstSeen)]
    const problem = key === undefined ? undefined : keyProblem(policy, key, at)
    if (key === undefined || problem?.kind !== 'Revoked') return { kind: 'Verified', head, verified: last, commits: 0 }
    const since = Number.isFinite(problem.since) ? ` since ${timestamp(problem.since)}` : ''
    const values = { commit: `commit ${shortCommit(head)}`, key, since, seen: last.firstSeen }
    const message = numbered(syncErrors.KN7034(values))
    return { kind: 'Refused', reason: 'KeyRevoked', head, seen, verified: last, message }
  }

  #range(question: TrustQuestion, from: string, seen: SeenHeads) {
    const { source, repository, head, approved, now, signal } = question
    const { ref, verify } = source.spec
    const none: ReadonlySet<string> = new Set()
    return this.#ranges.verify({
      reader: repository,
      from,
      to: head,
      seen: new Map(seen.map(({ commit, at }) => [commit, Date.parse(at)])),
      approversOf: (commit) => (approved.size === 0 ? none : (approved.get(commitDigest(source, commit)) ?? none)),
      policyAt: (commit) => this.#policyAt(question, commit),
      now,
      signal,
      ...defined({ tag: ref.tag }),
      ...(verify?.signersFile !== undefined && { policyFile: verify.signersFile.path }),
    })
  }

  async #policyAt({ source, repository }: TrustQuestion, commit: string): Promise<Policy> {
    const { verify } = source.spec
    if (verify === undefined) throw new UnusablePolicy('it has no spec.verify')
    const path = verify.signersFile?.path
    const file = path === undefined ? undefined : readSignersFile(repository, commit, path)
    const document = file === undefined ? undefined : this.#checked(source, commit, file)
    return policyOf(verify, document, this.#certificate)
  }

  /** A long range with a signers file needs the same certificates for every commit. */
  readonly #certificate: ReadCertificate = async (armored) => {
    const known = this.#certificates.get(armored)
    if (known !== undefined) return known
    const read = await parseCertificate(armored)
    if (this.#certificates.size >= MAX_CERTIFICATES)
      this.#certificates.delete(this.#certificates.keys().next().value as string)
    this.#certificates.set(armored, read)
    return read
  }

  /** Validated as part of the FleetSource, by the same rules. */
  #checked(source: FleetSource, commit: string, { path, value, problem }: SignersFile): SignersDocument {
    const refuse = (why: string) =>
      new KubeNodeError(
        syncErrors.KN7043({
          source: namespacedName(source),
          path,
          commit: shortCommit(commit),
          why: why.slice(0, 200),
        }),
      )
    if (problem !== undefined) throw refuse(problem)
    if (!isObject(value)) throw refuse('holds no signers')
    const other = Object.keys(value).find((k) => !FILE_FIELDS.has(k))
    if (other !== undefined) throw refuse(`has the field ${other.slice(0, 64)}`)
    const { metadata, spec } = source
    const { signers: _signers, revoked: _revoked, thresholds: _thresholds, ...rest } = spec.verify ?? {}
    const verify = { ...rest, signers: [], ...value, mode: 'Off' }
    const { name, namespace } = metadata
    const { apiVersion, kind } = source
    const [found] = this.#validator.problems(fleetSource, {
      apiVersion,
      kind,
      metadata: { name, namespace },
      spec: { ...spec, verify },
    })
    if (found !== undefined) throw refuse(formatProblem(found))
    return value
  }
}

/** Room for the keys of several sources. */
const MAX_CERTIFICATES = 256

const FILE_FIELDS: ReadonlySet<string> = new Set(['signers', 'revoked', 'thresholds'])

/** Adds this head; keeps the newest ones. A dropped head counts from its next observation, which is stricter. */
function seenHeads(before: SeenHeads, head: string, now: number): SeenHeads {
  const known = before.some((s) => s.commit === head)
  const all = known ? before : [...before, { commit: head, at: timestamp(now) }]
  return all.slice(-MAX_SEEN)
}
