// Verifies the commits between the last verified one and a new one, oldest first, a limited number in each pass: reads, runs the pure decisions, and
// stops at the first refusal. Results for a commit are cached, so that the next pass continues there.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { ErrorMessage } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'
import { changedPaths, difference, mergersOwn, type ChangedPaths } from './changes.ts'
import { FactsOfCommits, signatureIn, type ObjectReader } from './commit-facts.ts'
import { firstParentRange, mergeBase, wholeRange, type Range } from './history.ts'
import { refusalOf, type JudgedCommit, type RefusalReason, type Signature } from './judge.ts'
import { needsPaths, type Policy } from './policy.ts'
import { messageOf, parseSignedTag } from './signed-object.ts'
import { Malformed } from './ssh-wire.ts'
import { revertProblem } from './exact-revert.ts'

export interface RangeRequest {
  readonly reader: ObjectReader
  readonly from: string
  readonly to: string
  /** Name of the tag that the source follows. */
  readonly tag?: string
  /** Commits that were the newest when the hub first observed them, with the time; includes the new one. */
  readonly seen: ReadonlyMap<string, number>
  /** Users who approved exactly this commit. */
  readonly approversOf: (commit: string) => ReadonlySet<string>
  /** The policy from a verified commit's files. */
  readonly policyAt: (commit: string) => Promise<Policy>
  /** The file whose change means that two verified commits may have different policies. */
  readonly policyFile?: string
  readonly now: number
  readonly signal?: AbortSignal
}

export type RangeVerdict =
  | {
      readonly kind: 'Verified'
      /** Number of commits in this range; the key is the last one's. */
      readonly commits: number
      readonly key: string
      readonly principal: string
      readonly firstSeen: number
    }
  | { readonly kind: 'Refused'; readonly commit: string; readonly reason: Reason; readonly message: ErrorMessage }
  | { readonly kind: 'Running'; readonly done: number; readonly total: number }

export type Reason = RefusalReason | 'HistoryRewritten' | 'TooLong' | 'Malformed' | 'TagRefused'

/** Signatures that one pass verifies; takes half a second to two seconds. */
const PER_PASS = 2_000
/** Other tasks get a turn after this time. */
const SLICE_MS = 10
/** How far back an emergency key may go to restore an earlier state. */
const MAX_BACK = 1_000

export class RangeVerifier {
  readonly #facts = new FactsOfCommits()
  readonly #changes = new Map<string, ChangedPaths>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async verify(request: RangeRequest): Promise<RangeVerdict> {
    const { to } = request
    let at = to
    const pass: Pass = {
      request,
      breathe: this.#breather(request.signal),
      reading: (id) => {
        at = id
      },
    }
    try {
      return await this.#verify(pass)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      const values = { commit: `commit ${shortCommit(at)}`, why: error.message }
      return { kind: 'Refused', commit: at, reason: 'Malformed', message: syncErrors.KN7015_commit(values) }
    }
  }

  #breather(signal: AbortSignal | undefined): () => Promise<void> {
    let since = this.#clock.monotonic()
    return async () => {
      if (this.#clock.monotonic() - since < SLICE_MS) return
      await setImmediate()
      signal?.throwIfAborted()
      since = this.#clock.monotonic()
    }
  }

  async #verify(pass: Pass): Promise<RangeVerdict> {
    const { from, to, now, policyAt } = pass.request
    const read = async (id: string) => {
      pass.reading(id)
      await pass.breathe()
      return this.#facts.of(id, pass.request.reader)
    }
    let policy = await policyAt(from)
    const range = await (policy.mode === 'FirstParent' ? firstParentRange : wholeRange)(from, to, read)
    if (range.kind !== 'Range') return outOfRange(range, from, to)
    const { commits } = range
    const all = { commits, line: await lineOf(from, to, read), times: this.#timesOf(commits, pass.request) }
    const judged = policy.mode === 'Head' ? [to] : commits
    let [done, verified, last] = [0, 0, '']
    for (const id of judged) {
      pass.reading(id)
      await pass.breathe()
      if (!this.#facts.hasSignature(id) && ++verified > PER_PASS) return { kind: 'Running', done, total: judged.length }
      // In Head mode the tag is signed instead of the commit.
      if (policy.mode !== 'Head' || pass.request.tag === undefined) {
        const commit = await this.#judged(id, policy, all, pass)
        const refusal = refusalOf(commit, policy, now)
        if (refusal !== undefined) return { kind: 'Refused', ...refusal }
        last = commit.signature.kind === 'By' ? commit.signature.key : ''
      }
      done++
      if (pass.request.policyFile !== undefined && all.line.has(id) && id !== to) policy = await policyAt(id)
    }
    const tag = pass.request.tag === undefined ? undefined : await this.#tag(pass.request.tag, policy, all, pass)
    if (tag?.kind === 'Refused') return tag
    const key = tag?.key ?? last
    const principal = policy.byKey.get(key)?.principal ?? ''
    return { kind: 'Verified', commits: commits.length, key, principal, firstSeen: all.times.get(to)?.at ?? now }
  }

  /** A commit was observed no later than a newer one that contains it; an approval of the newer one covers it too. */
  #timesOf(commits: readonly string[], { seen, approversOf, now, reader }: RangeRequest): Times {
    const times = new Map<string, { at: number; by: ReadonlySet<string> }>()
    const learn = (id: string, at: number, by: ReadonlySet<string>) => {
      const known = times.get(id)
      const all = known === undefined || known.by.size === 0 ? by : by.size === 0 ? known.by : known.by.union(by)
      times.set(id, { at: Math.min(at, known?.at ?? Infinity), by: all })
    }
    for (const id of commits.toReversed()) {
      learn(id, seen.get(id) ?? now, approversOf(id))
      const { at, by } = times.get(id) as { at: number; by: ReadonlySet<string> }
      for (const parent of this.#facts.of(id, reader).parents) learn(parent, at, by)
    }
    return times
  }

  async #judged(id: string, policy: Policy, { times }: RangeFacts, pass: Pass): Promise<JudgedCommit> {
    const { reader, now, from } = pass.request
    const { at, by } = times.get(id) ?? { at: now, by: new Set<string>() }
    const signature = await this.#facts.signatureOf(id, reader, policy.pgpKeys)
    const signer = signature.kind === 'By' ? policy.byKey.get(signature.key) : undefined
    const changed = needsPaths(policy)
      ? policy.mode === 'Head'
        ? await this.#between(from, id, reader)
        : await this.#ownChanges(id, policy, pass)
      : undefined
    const isRevert = signer?.onlyReverts === true ? this.#isRevert(id, policy.anchor, reader) : undefined
    const taken = signer?.isSync === true ? await this.#revertProblem(id, policy, reader) : undefined
    return {
      id,
      what: 'commit',
      signature,
      firstSeen: at,
      changed,
      approvers: by,
      ...defined({ isRevert, revertProblem: taken }),
    }
  }

  async #between(before: string | undefined, after: string, reader: ObjectReader): Promise<ChangedPaths> {
    return changedPaths(this.#difference(before, after, reader))
  }

  #difference(before: string | undefined, after: string, reader: ObjectReader) {
    const tree = (id: string | undefined) => (id === undefined ? undefined : this.#facts.of(id, reader).tree)
    return difference(tree(before), tree(after), (oid) => reader.treeEntries(oid, `commit ${shortCommit(after)}`))
  }

  async #ownChanges(id: string, { mode }: Policy, pass: Pass): Promise<ChangedPaths> {
    const key = `${mode} ${id}`
    const known = this.#changes.get(key)
    if (known !== undefined) return known
    const { reader } = pass.request
    const [first, second, ...more] = this.#facts.of(id, reader).parents
    const isMerge = mode === 'All' && first !== undefined && second !== undefined
    let changed: ChangedPaths | undefined
    if (isMerge && more.length === 0) changed = await this.#ownOfMerge(id, first, second, pass)
    // An octopus merge, or parents without a single common commit: it is unknown which parent changed a file, and any may be older than the commit in force.
    if (isMerge) changed ??= await this.#fromEach([first, second, ...more], id, pass)
    changed ??= await this.#between(first, id, reader)
    if (changed.paths.length <= MAX_KEPT_PATHS) {
      if (this.#changes.size >= MAX_KEPT) this.#changes.delete(this.#changes.keys().next().value as string)
      this.#changes.set(key, changed)
    }
    return changed
  }

  async #fromEach(parents: readonly string[], id: string, pass: Pass): Promise<ChangedPaths> {
    const paths = new Set<string>()
    let isWhole = parents.length <= MAX_PARENTS
    for (const parent of parents.slice(0, MAX_PARENTS)) {
      await pass.breathe()
      const changed = changedPaths(this.#difference(parent, id, pass.request.reader))
      for (const path of changed.paths) paths.add(path)
      isWhole &&= changed.isWhole
    }
    return { paths: [...paths].toSorted(), isWhole }
  }

  async #ownOfMerge(id: string, first: string, second: string, pass: Pass): Promise<ChangedPaths | undefined> {
    const { reader } = pass.request
    const base = await mergeBase(first, second, async (each) => {
      await pass.breathe()
      return this.#facts.of(each, reader)
    })
    if (base === undefined) return undefined
    const differs = (before: string, after: string) => this.#difference(before, after, reader)
    return mergersOwn({
      toMerge: [differs(first, id), differs(second, id)],
      fromBase: [differs(base, first), differs(base, second)],
    })
  }

  #isRevert(id: string, anchor: string, reader: ObjectReader): boolean {
    const { tree, parents } = this.#facts.of(id, reader)
    for (let [back, steps] = [parents[0], 0]; back !== undefined && steps < MAX_BACK; steps++) {
      const earlier = this.#facts.of(back, reader)
      if (earlier.tree === tree) return true
      if (back === anchor) return false
      back = earlier.parents[0]
    }
    return false
  }

  async #revertProblem(id: string, policy: Policy, reader: ObjectReader): Promise<string | undefined> {
    const { mode, anchor, byKey, signersFile } = policy
    // In this mode nothing is known about commits below the newest.
    if (mode === 'Head') return 'cannot be judged while spec.verify.mode is Head, which verifies the newest commit only'
    const isOfSync = async (commit: string) => {
      const signature = await this.#signatureOrNone(commit, policy, reader)
      return signature.kind === 'By' && byKey.get(signature.key)?.isSync === true
    }
    const read = {
      factsOf: (commit: string) => this.#facts.of(commit, reader),
      messageOf: (commit: string) => messageOf(reader.commitBytes(commit)),
      isOfSync,
      treeOf: (oid: string) => reader.treeEntries(oid, `commit ${shortCommit(id)}`),
    }
    return revertProblem(id, read, {
      anchor,
      isAnchorOnLine: mode === 'FirstParent',
      never: signersFile === undefined ? [] : [signersFile],
    })
  }

  /** An old commit before the anchor may have any form. */
  async #signatureOrNone(id: string, { pgpKeys }: Policy, reader: ObjectReader): Promise<Signature> {
    try {
      return await this.#facts.signatureOf(id, reader, pgpKeys)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      return { kind: 'None' }
    }
  }

  /** The tag must be annotated, have its own name, point to this commit, and be signed. */
  async #tag(name: string, policy: Policy, { times }: RangeFacts, pass: Pass): Promise<TagVerdict> {
    const { reader, to, from, now } = pass.request
    const refuse = (why: string): TagVerdict => {
      const message = syncErrors.KN7039({ tag: JSON.stringify(name), why })
      return { kind: 'Refused', commit: to, reason: 'TagRefused', message }
    }
    const bytes = await reader.tagBytes(name)
    if (bytes === undefined) return refuse('is not annotated, so that it cannot have a signature')
    let tag: ReturnType<typeof parseSignedTag>
    try {
      tag = parseSignedTag(bytes)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      return refuse(error.message)
    }
    if (tag.name !== name) return refuse(`was made under the name ${JSON.stringify(tag.name.slice(0, 100))}`)
    if (tag.object !== to) return refuse(`names ${shortCommit(tag.object)} instead of ${shortCommit(to)}`)
    // The commit of a signed tag must also be one that every program reads the same way.
    await this.#facts.signatureOf(to, reader, policy.pgpKeys)
    const { at, by } = times.get(to) ?? { at: now, by: new Set<string>() }
    const signature = await signatureIn(tag, policy.pgpKeys)
    const changed = needsPaths(policy) ? await this.#between(from, to, reader) : undefined
    const judged: JudgedCommit = {
      id: to,
      what: 'tag',
      signature,
      firstSeen: at,
      changed,
      approvers: by,
      isRevert: false,
      revertProblem: 'is a tag',
    }
    const refusal = refusalOf(judged, policy, now)
    if (refusal !== undefined) return { kind: 'Refused', ...refusal }
    return { kind: 'Signed', key: signature.kind === 'By' ? signature.key : '' }
  }
}

/** A commit of a megabyte can name 20,000 parents: beyond this number its changes are unknown. */
const MAX_PARENTS = 64

/** Number of commits whose changes are cached, if they are few. */
const MAX_KEPT = 50_000
const MAX_KEPT_PATHS = 16

type Times = ReadonlyMap<string, { readonly at: number; readonly by: ReadonlySet<string> }>

interface RangeFacts {
  readonly times: Times
  /** The commits that the branch pointed to, in order. */
  readonly line: ReadonlySet<string>
}

interface Pass {
  readonly request: RangeRequest
  readonly breathe: () => Promise<void>
  /** Notes which commit a problem is about. */
  readonly reading: (id: string) => void
}

type TagVerdict = Extract<RangeVerdict, { kind: 'Refused' }> | { readonly kind: 'Signed'; readonly key: string }

async function lineOf(
  from: string,
  to: string,
  read: Parameters<typeof firstParentRange>[2],
): Promise<ReadonlySet<string>> {
  const line = await firstParentRange(from, to, read)
  // If the last verified commit was merged in, the line bypasses it: the policy of that commit stays.
  return new Set(line.kind === 'Range' ? line.commits : [])
}

function outOfRange(range: Exclude<Range, { kind: 'Range' }>, from: string, to: string): RangeVerdict {
  const values = { commit: `commit ${shortCommit(to)}`, verified: shortCommit(from) }
  return range.kind === 'Unrelated'
    ? { kind: 'Refused', commit: to, reason: 'HistoryRewritten', message: syncErrors.KN7040(values) }
    : { kind: 'Refused', commit: to, reason: 'TooLong', message: syncErrors.KN7040_far(values) }
}
