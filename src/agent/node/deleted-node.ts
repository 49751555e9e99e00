// What an agent does when the Machine says that its Node was deleted: creates it again, or has the kubelet restarted, which registers only at its start. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import type { Finding } from '../drift/inspect.ts'

/** The component that registers Nodes itself. */
export const KUBELET = 'kubelet'

/** The machine controller watches all Nodes, so that ten thousand agents need not. A deleted machine's Node is deleted too. */
export const isNodeDeleted = ({ metadata, spec, status }: Machine): boolean =>
  metadata.deletionTimestamp === undefined &&
  spec.channel !== 'Observe' &&
  status?.conditions?.some((c) => c.type === 'Ready' && c.reason === 'NodeMissing') === true

/** The kubelet that was running when the Node was found deleted; a later one registers it. */
export interface DeletedNode {
  readonly name: string
  readonly kubelet: number | undefined
}

/** Reported as drift, so that its set restarts it: under a permit, and within budgets. */
export const kubeletFinding = (deleted: DeletedNode | undefined, pid: number | undefined): readonly Finding[] =>
  deleted === undefined || pid === undefined || pid !== deleted.kubelet
    ? []
    : [
        {
          kind: 'Running',
          key: 'node',
          what: `Node ${deleted.name} was deleted; the kubelet registers it again at its next start`,
        },
      ]
