// The permits of one node, the newest first: what each is for, whether it is granted, until when, and what it waits for. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { createdAt } from '#api/schema/object-meta.ts'
import { purposeOfPermit } from '#api/protocol/part.ts'
import { verdictNote } from '#explain/verdict.ts'
import { defined } from '#lib/defined.ts'
import type { NodePermitRow } from '../../node-topics.ts'
import { at, given } from './parts.ts'

/** Older ones are in its life. */
const MOST_PERMITS = 10
const MOST_GATES = 3

interface Names {
  readonly machine: string | undefined
  readonly node: string | undefined
}

export const permitRows = (permits: readonly OperationPermit[], { machine, node }: Names): readonly NodePermitRow[] =>
  permits
    .filter(({ spec }) =>
      spec.targets.some(({ kind, name }) => (kind === 'Machine' ? name === machine : kind === 'Node' && name === node)),
    )
    .toSorted((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1))
    .slice(0, MOST_PERMITS)
    .map((permit) => {
      const { metadata, spec, status = {} } = permit
      const phase = status.phase ?? 'Requested'
      return {
        id: `Permit/${metadata.name ?? ''}`,
        row: 'Permit',
        name: metadata.name ?? '',
        purpose: purposeOfPermit(spec),
        operations: spec.operations,
        phase,
        ...at('since', status.endedAt ?? status.decidedAt ?? metadata.creationTimestamp),
        ...(phase === 'Granted' && at('until', status.expiresAt)),
        ...(phase === 'Requested' && given('wait', waitText(status))),
        ...given('approvedBy', status.approvedBy),
      }
    })

function waitText({ gates = [], verdicts = [] }: NonNullable<OperationPermit['status']>): string | undefined {
  const texts = [...gates, ...verdicts]
    .filter(({ verdict }) => verdict !== 'Granted')
    .map(({ seen, limit, policy }) => verdictNote(defined({ seen, limit, policy })))
  const each = [...new Set(texts)].slice(0, MOST_GATES)
  return each.length === 0 ? undefined : each.join('; ')
}
