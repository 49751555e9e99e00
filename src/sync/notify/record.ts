// The record of a commit's rollout, as the text of a git note: its Releases with stages, gates, clusters, digests, times and approvers. Pure. Invariant:
// KubeNode never reads it. Any user with push access can write anything there; the Releases on the hub are the truth.
import type { Release } from '#api/kinds/release.ts'
import { stagePart } from '#api/protocol/part.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { printableLine } from '#lib/printable.ts'
import { approversOfRelease, type ApprovalsSeen, type ApprovedBy } from '../release/recorded-approvers.ts'

const MAX_LINES = 400
const MAX_LINE = 300
const SHORT = 12

/** Releases of one commit, from all tracks. */
export function recordText(releases: readonly Release[], seen: ApprovalsSeen): string {
  const lines = releases
    .toSorted((a, b) => (a.spec.track < b.spec.track ? -1 : 1))
    .flatMap((r) => releaseRecord(r, approversOfRelease(r, seen)))
  const more = lines.length - MAX_LINES
  const shown = more > 0 ? [...lines.slice(0, MAX_LINES), `and ${more} more lines: kubenode trace COMMIT`] : lines
  return shown.map((line) => `${printableLine(line).slice(0, MAX_LINE)}\n`).join('')
}

function releaseRecord({ metadata, spec, status = {} }: Release, approvers: readonly ApprovedBy[]): readonly string[] {
  const { phase = 'Pending', startedAt, finishedAt, stages = [], clusters = [], record = [], revertCommit } = status
  return [
    `release ${namespacedName({ metadata })} of track ${spec.track}: ${phase}`,
    ...(startedAt === undefined ? [] : [`  ${startedAt} to ${finishedAt ?? 'now'}`]),
    ...(spec.signer === undefined ? [] : [`  signed by ${spec.signer}`]),
    ...approvers.map(({ by, at }) => `  approved by ${by}${at === undefined ? '' : ` at ${at}`}`),
    ...(spec.revertOf === undefined ? [] : [`  reverts ${spec.revertOf}`]),
    ...(revertCommit === undefined ? [] : [`  reverted by ${revertCommit}`]),
    ...stages.flatMap((stage) => [
      `  ${stagePart(stage.name)}: ${stage.phase}${stage.startedAt === undefined ? '' : `, ${stage.startedAt} to ${stage.finishedAt ?? 'now'}`}`,
      ...(stage.gates ?? []).map(
        (g) => `    gate ${g.name} (${g.when}): ${g.phase}${g.seen === undefined ? '' : `, ${g.seen}`}`,
      ),
      ...clusters
        .filter((c) => c.stage === stage.name)
        .flatMap((c) => {
          const digest = c.digest ?? spec.digests[c.name]
          const content = digest === undefined ? '' : `, sha256:${digest.slice(0, SHORT)}`
          const own = record.find((r) => r.cluster === c.name)
          return [
            `    cluster ${c.name}: ${c.phase} since ${c.healthySince ?? c.since}${content}`,
            ...(own?.switches ?? []).map(
              ({ set, component, count, p50, p90 }) =>
                `      switches of ${set}/${component}: half within ${p50}s, nine of ten within ${p90}s (of ${count})`,
            ),
          ]
        }),
    ]),
  ]
}
