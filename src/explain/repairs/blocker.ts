// One reason that blocks a node's repair, its text, and the texts that several causes share. Pure.
import { shellWord } from '#lib/shell-word.ts'
import type { RepairsSeen } from './observe.ts'

export interface Blocker {
  /** One word, equal for the same cause. */
  readonly id: string
  /** The blocked rule or job. */
  readonly of: string
  readonly text: string
  /** Unblocks it. Absent: only the action in the text does. */
  readonly command?: string
  /** Git's declaration returns with the next commit unless it is changed there too. */
  readonly isDeclared?: boolean
}

/** Without `of`, because the caller knows what is blocked. */
export type Cause = Omit<Blocker, 'of'>

export const patch = (plural: string, name: string, spec: object): string =>
  `kubectl patch ${plural}.kubenode.io ${name} --type merge -p ${shellWord(JSON.stringify({ spec }))}`

export function heldBy(name: string | undefined, text: string, { holds }: RepairsSeen): Cause {
  const hold = holds.find((h) => h.metadata.name === name)
  const isAll = hold?.spec.effect === 'Freeze' && hold.spec.target.kind === 'Cluster'
  return {
    id: hold?.spec.effect === 'Freeze' ? 'Frozen' : 'Paused',
    text: `${text}${hold === undefined ? '' : ` (${hold.spec.author}, until ${hold.spec.until})`}`,
    ...(hold !== undefined && {
      command: isAll ? 'kubenode thaw --all' : `kubectl delete operationalholds.kubenode.io ${hold.metadata.name}`,
    }),
  }
}

/** For an agent that does not report its own folder. */
const AGENT_FOLDER = '/var/lib/kubenode'

/** Only possible on the node itself, because it must work while no server does. */
export const thawOnNode = (agentFolder = AGENT_FOLDER): string =>
  `kubenode thaw --node-folder ${shellWord(agentFolder)}`

export function frozenByFile({ frozen = '', agentFolder }: RepairsSeen): Cause {
  return {
    id: 'FrozenByFile',
    text: `the node is frozen ${frozen}; find out why before you remove it, and run this on the node itself`,
    command: thawOnNode(agentFolder),
  }
}

/** No command lifts it: repairing many nodes with the same cause one by one would take down the remaining capacity. */
export const massFault = (text: string): Cause => ({
  id: 'MassFault',
  text: `${text}; find what these nodes share (the last changes: kubenode history) and correct it there; repairs begin by themselves once fewer have the fault, and no request overrides it`,
})
