// What is seen of a Cluster about which nothing else is known: no permit, no hold, no machine, no limit, and a host that answers.
import type { Seen } from '#controllers/cluster/seen.ts'

export const QUIET: Pick<
  Seen,
  | 'unanswered'
  | 'permits'
  | 'endedFor'
  | 'approved'
  | 'machines'
  | 'agents'
  | 'readiness'
  | 'holds'
  | 'isDeclared'
  | 'caps'
  | 'hosted'
> = {
  unanswered: undefined,
  permits: [],
  endedFor: new Map(),
  approved: new Set(),
  machines: undefined,
  agents: undefined,
  readiness: undefined,
  holds: [],
  isDeclared: false,
  caps: {},
  hosted: [],
}
