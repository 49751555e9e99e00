// Says that a node stays cordoned because no script accepted it. However such a repair ends, its message has it.
import { isCordonedBy } from '#nodes/cordon.ts'
import { acceptanceOf } from '#nodes/faults/acceptance.ts'
import { type Seen, cordonOwner } from './seen.ts'

export const NOT_ACCEPTED = 'the node was not accepted and stays cordoned'

/** The message of a repair that ends now. First, because a long message is cut. */
export const endText = (seen: Seen, message: string): string =>
  staysCordoned(seen) ? `${NOT_ACCEPTED}: ${message}` : message

/** A Machine that is deleted takes its cordon with it. */
function staysCordoned({ job, others, node, machine }: Seen): boolean {
  const isOurs = node?.metadata.uid === job.spec.node.uid && isCordonedBy(node, cordonOwner(job))
  const isLeaving =
    job.spec.machine !== undefined && (machine === undefined || machine.metadata.deletionTimestamp !== undefined)
  return isOurs && !isLeaving && acceptanceOf(job, others).kind === 'Missing'
}
