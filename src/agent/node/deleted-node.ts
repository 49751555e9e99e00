// What an agent does when the Machine reports that its Node was deleted: it creates the Node again, or has the kubelet restarted, because a kubelet
// registers only when it starts. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { isLeftToHost, type ComponentRecord } from '../components/record.ts'
import type { Finding } from '../drift/inspect.ts'

/** The component that registers Nodes itself. */
export const KUBELET = 'kubelet'

/** Also while it is being switched for the first time: it has to register the Node to become healthy. */
export const hasKubelet = (records: readonly ComponentRecord[]): boolean =>
  records.some((record) => record.component === KUBELET && !isLeftToHost(record))

/** The machine controller watches all Nodes, so that ten thousand agents need not. A deleted machine's Node is deleted too. */
export const isNodeDeleted = ({ metadata, spec, status }: Machine): boolean =>
  metadata.deletionTimestamp === undefined &&
  spec.channel !== 'Observe' &&
  status?.conditions?.some((c) => c.type === 'Ready' && c.reason === 'NodeMissing') === true

/** The kubelet that ran when the Node was found deleted; a later kubelet registers it. */
export interface DeletedNode {
  readonly name: string
  readonly kubelet: number | undefined
}

/** Reported as drift, so that its set restarts it under a permit and within budgets. */
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
