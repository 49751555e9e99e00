// Reverts a failed Release where its pipeline asks for it: decides, makes the commit, checks it as sync itself would judge it, pushes it, and records
// the result in the status.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { fit } from '#runtime/waiting.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { accessOf, secretOf } from '../git/access.ts'
import { isLocal } from '../git/local-url.ts'
import type { LocalRepository } from '../git/local-repository.ts'
import { push } from '../git/push.ts'
import { NewObjects, signedCommit } from '../revert/commit.ts'
import { decideRevert, isRevertDue, type RevertDecision } from '../revert/decide.ts'
import { revertMessage } from '../revert/message.ts'
import { putBack } from '../revert/put-back.ts'
import { planDigest, planTrailer } from '../plan-digest.ts'
import { syncErrors } from '../sync-errors.ts'
import { parseLinks } from '../trust/signed-object.ts'
import { parseSigningKey } from '../trust/ssh-sign.ts'
import { Malformed } from '../trust/ssh-wire.ts'
import { isVerified } from '../trust/policy.ts'
import { releasesIn } from '../release/chain.ts'
import { approvingUsers } from './approvals.ts'
import { SECRET } from './connections.ts'
import type { SyncContext } from './context.ts'
import type { HubShared } from './shared.ts'

type RevertTools = Pick<
  HubShared,
  'context' | 'renders' | 'verification' | 'releases' | 'approvals' | 'pipelinesBefore'
>

export interface RevertWork {
  readonly release: Release
  readonly source: FleetSource
  readonly chain: readonly Release[]
  readonly isPaused: boolean
  readonly signal: AbortSignal
}

type Order = Extract<RevertDecision, { kind: 'Write' }>

/** The status with the result of the revert. */
export async function revertFailed(
  tools: RevertTools,
  work: RevertWork,
  status: ReleaseStatus,
): Promise<ReleaseStatus> {
  const { release, source, chain, isPaused } = work
  const now = tools.context.clock.now()
  if (status.revertCommit !== undefined) return status
  if (!hasFailed(status)) return withoutAttempts(status)
  // The commit is made from the recorded status, so that an attempt after a crash makes the same commit.
  const recorded = release.status
  if (recorded === undefined || !hasFailed(recorded) || !isRevertDue(recorded, now)) return status
  const policy = await tools.pipelinesBefore.revertPolicy(source, release)
  const releases = releasesIn(tools.releases.list(), release.metadata.namespace).filter(
    (r) => r.spec.source === release.spec.source,
  )
  const decision = decideRevert({ release, status: recorded, chain, releases, source, policy, isPaused })
  const attempted = (why: string): ReleaseStatus => ({
    ...status,
    revert: {
      at: timestamp(now),
      attempts: Math.min((status.revert?.attempts ?? 0) + 1, 1_000),
      problem: fit(printableLine(why)),
    },
  })
  if (decision.kind === 'None') return status
  if (decision.kind === 'Known') return { ...status, revertCommit: decision.commit, revert: { at: timestamp(now) } }
  if (decision.kind === 'Refuse') return attempted(decision.why)
  try {
    const made = await write(tools, work, decision, recorded)
    if (typeof made === 'object') return attempted(made.problem)
    const { branch, restores } = decision
    return { ...status, revertCommit: made, revert: { branch, restores, at: timestamp(now) } }
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    return attempted(messageOf(error))
  }
}

const hasFailed = ({ stages = [] }: ReleaseStatus): boolean => stages.some((s) => s.phase === 'Failed')

/** The Release became healthy after all. */
function withoutAttempts(status: ReleaseStatus): ReleaseStatus {
  const { revert, ...others } = status
  return revert === undefined ? status : others
}

/** Returns the id of the commit after it is on the branch. */
async function write(
  tools: RevertTools,
  { release, source, signal }: RevertWork,
  { reverts, restores, branch, isDirect, at }: Order,
  status: ReleaseStatus,
): Promise<string | { readonly problem: string }> {
  const { context, renders } = tools
  const { key, access } = await credentialsOf(context, source)
  const { repository, commit: parent } = await renders.fetch(source)
  if (parent !== source.status?.commit) return { problem: 'the branch has a newer commit, which is not followed yet' }
  const tree = (id: string) => parseLinks(repository.commitBytes(id)).tree
  const objects = new NewObjects()
  const made = putBack({
    good: tree(restores),
    bad: tree(reverts),
    parent: tree(parent),
    treeOf: (id) => repository.treeEntries(id, `commit ${shortCommit(reverts)}`),
    write: objects.addTree,
  })
  if (made.kind === 'Problem') return { problem: made.why }
  const subject = (await repository.commit(reverts)).message.split('\n')[0] ?? ''
  // With other commits in between, the revert's rendering is not known yet.
  if (source.spec.requirePlan === true && parent !== reverts)
    return { problem: 'the source requires plans, and other commits came since: revert it with a plan' }
  const plan = source.spec.requirePlan === true ? await planOf(renders, source, reverts, restores) : undefined
  const message = revertMessage({ release, status, subject, reverts, restores, paths: made.paths, plan })
  const id = objects.add('commit', signedCommit({ tree: made.tree, parent, at, message }, key))
  const refusal = isDirect ? await refusalOf(tools, source, { repository, objects, id, signal }) : undefined
  if (refusal !== undefined) return { problem: refusal }
  const { cacheDir, gitEnv, gitReach } = context.config
  await push(
    {
      url: source.spec.url,
      branch,
      commit: id,
      objects: objects.all,
      repository,
      access,
      expected: isDirect ? parent : undefined,
    },
    {
      cacheDir,
      ...defined({ env: gitEnv, reach: gitReach }),
    },
  )
  return id
}

async function planOf(renders: HubShared['renders'], source: FleetSource, from: string, to: string): Promise<string> {
  const [before, after] = [await renders.render(source, from), await renders.render(source, to)]
  return planTrailer(planDigest(before.targets, after.targets))
}

interface Made {
  readonly repository: LocalRepository
  readonly objects: NewObjects
  readonly id: string
  readonly signal: AbortSignal
}

/** sync never writes a commit to the followed branch that it would then refuse: that would block every later commit too. */
async function refusalOf(
  { context, verification, approvals }: RevertTools,
  source: FleetSource,
  { repository, objects, id, signal }: Made,
): Promise<string | undefined> {
  if (!isVerified(source)) return undefined
  const reader = {
    commitBytes: (each: string) => (each === id ? bytesIn(objects, each) : undefined) ?? repository.commitBytes(each),
    tagBytes: (name: string) => repository.tagBytes(name),
    treeEntries: (each: string, where: string) => objects.entriesOf(each) ?? repository.treeEntries(each, where),
    fileBytes: (each: string, where: string) => repository.fileBytes(each, where),
  }
  const now = context.clock.now()
  const approved = approvingUsers(approvals.list(), now)
  const trust = await verification.judge({ source, repository: reader, head: id, approved, now, signal })
  if (trust.kind === 'Verified') return undefined
  return trust.kind === 'Refused' ? trust.message : 'earlier commits are still being verified'
}

const bytesIn = ({ all }: NewObjects, id: string): Buffer | undefined => all.get(id)?.content

/** From spec.push: the signing key, and the repository's credentials. */
export async function credentialsOf({ client, clock }: Pick<SyncContext, 'client' | 'clock'>, source: FleetSource) {
  const { spec } = source
  const secretRef = spec.push?.secretRef ?? { name: '' }
  const { namespace, name } = secretOf(source, secretRef)
  const secret = await client.get(SECRET, { namespace, name })
  const refuse = (why: string) =>
    new KubeNodeError(syncErrors.KN7052({ source: namespacedName(source), secret: `${namespace}/${name}`, why }), {
      retry: 'later',
    })
  const text = signingKeyIn(secret)
  if (secret === undefined) throw refuse('does not exist')
  if (text === undefined) throw refuse('has no signing-key')
  const access = isLocal(spec.url)
    ? ({ kind: 'Anonymous' } as const)
    : accessOf({ ...source, spec: { ...spec, secretRef } }, secret, clock.now())
  try {
    return { key: parseSigningKey(text), access }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw refuse(`has a signing-key that ${error.message}`)
  }
}

function signingKeyIn(secret: KubeObject | undefined): string | undefined {
  const data = secret?.['data']
  const value = isObject(data) ? data['signing-key'] : undefined
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined
}
