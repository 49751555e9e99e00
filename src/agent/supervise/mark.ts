// The mark in the environment of every process that the supervisor starts. Children inherit it. It identifies a process's owner after the agent that
// started it has ended.
import { processesMarked, type ProcStat } from './proc.ts'
import type { Service } from './port.ts'

export const MARK = 'KUBENODE_INSTANCE'

export interface Mark {
  readonly component: string
  readonly slot: string
  readonly killMode: Service['killMode']
  /** One start of one component. */
  readonly start: string
}

export const markText = (node: string, m: Mark): string => [node, m.component, m.slot, m.killMode, m.start].join('#')

/** Undefined for marks of other nodes. */
function parseMark(node: string, text: string): Mark | undefined {
  if (!text.startsWith(`${node}#`)) return undefined
  const [component = '', slot = '', killMode, start = ''] = text.slice(node.length + 1).split('#')
  return component === ''
    ? undefined
    : { component, slot, killMode: killMode === 'Process' ? 'Process' : 'Group', start }
}

export interface Marked {
  readonly mark: Mark
  readonly process: ProcStat
}

/** All processes of one node, oldest first. */
export const processesOfNode = (node: string): readonly Marked[] =>
  processesMarked(MARK)
    .flatMap((process) => {
      const mark = parseMark(node, process.mark)
      return mark === undefined ? [] : [{ mark, process }]
    })
    .sort((a, b) => Number(a.process.startTime) - Number(b.process.startTime) || a.process.pid - b.process.pid)

/**
 * Which process an agent without a record may treat as the component itself: every component starts in its own session. Helpers usually have no session
 * of their own, and are younger.
 */
export const mainOf = (marked: readonly Marked[], component: string): Marked | undefined =>
  marked.find((m) => m.mark.component === component && m.process.session === m.process.pid)

/**
 * Which processes end together with a component. Group: all processes that it started, wherever they moved. Process: those still in its process group.
 * Processes that moved to their own group, such as container shims, are meant to survive.
 */
export const familyOf = (
  marked: readonly Marked[],
  { component, group, killMode }: { component: string; group: number; killMode: Service['killMode'] },
): readonly ProcStat[] =>
  marked
    .filter((m) => m.mark.component === component && (killMode === 'Group' || m.process.group === group))
    .map((m) => m.process)
