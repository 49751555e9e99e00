// The parts that report: the agent's fields of the Machine's status, and the status of the Node.
import { resolve } from 'node:path'
import { machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { AcceptanceRuns } from '../acceptance/acceptance-runs.ts'
import type { AllComponents } from '../components/all-components.ts'
import { trustCondition, type TrustStore } from '../components/trust-store.ts'
import type { ProblemBoard } from '../detect/problem-board.ts'
import { frozenCondition, type FrozenWatch } from '../frozen.ts'
import { frozenFile } from '../node-dir.ts'
import type { KubeletTrustWatch } from '../node/kubelet-trust.ts'
import type { NodeObject } from '../node/node-object.ts'
import { isSameStatus, nodeStatus } from '../node/node-status.ts'
import { addressTowards, ownAddress } from '../node/own-address.ts'
import { StatusWriter } from '../node/writer.ts'
import type { NoticeWatch } from '../notices/notice-watch.ts'
import type { WithSelf } from '../self/self-process.ts'
import { machineStatus, passingMs } from '../status/machine-status.ts'
import type { PartsContext } from './context.ts'
import { defined } from '#lib/defined.ts'

/** Kubelets report an unchanged status at the same interval; the Lease is the heartbeat. */
const STATUS_HEARTBEAT_MS = 300_000

export interface MachineWriterNeeds {
  readonly supervisor: WithSelf
  readonly components: AllComponents
  readonly frozen: FrozenWatch
  readonly trust: TrustStore
  readonly notices: Pick<NoticeWatch, 'report'>
  readonly acceptance: Pick<AcceptanceRuns, 'report'>
  readonly kubelet: Pick<KubeletTrustWatch, 'value'> | undefined
}

export function buildMachineWriter(context: PartsContext, needs: MachineWriterNeeds): StatusWriter<KubeObject> {
  const { target } = context
  const { supervisor } = needs
  return new StatusWriter<KubeObject>({
    ...context.base,
    name: 'Machine',
    compute: () => machineStatusNow(context, needs, target.leaving === undefined ? undefined : 'Leaving'),
    isSame: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    passingMs: (before, now) => passingMs(before, now, (name, attempt) => needs.components.isOrdered(name, attempt)),
    write: async (object) => {
      await writeMachine(context, object)
      await supervisor.reported()
    },
  })
}

function machineStatusNow(
  { machine, facts, version, dir, session }: PartsContext,
  { components, frozen, trust, notices, acceptance, kubelet }: MachineWriterNeeds,
  phase: 'Leaving' | 'Left' | undefined,
): KubeObject {
  return machineStatus({
    name: machine,
    facts,
    version,
    ...defined({ phase }),
    folder: resolve(dir.path),
    publicKey: session.sealing.publicKey,
    certificate: session.certificateLife(),
    authorities: session.authorities,
    kubelet: kubelet?.value,
    components: components.reports(),
    foreign: components.foreign,
    notices: notices.report,
    acceptance: acceptance.report,
    conditions: [
      frozenCondition(frozen.frozen, frozenFile(dir)),
      trustCondition(trust.refusal),
      session.tokenCondition(),
    ].flatMap((c) => c ?? []),
  })
}

function writeMachine({ client, known }: PartsContext, object: KubeObject): Promise<void> {
  const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
  return known.apply(client, machineType, object, options)
}

/** The last report: removes the agent's conditions from a Node that a kubelet registered, and writes the Machine last. */
export const reportLeft =
  (context: PartsContext, needs: MachineWriterNeeds, { nodeObject, registersNode }: OwnNode) =>
  async (): Promise<void> => {
    if (!registersNode()) await nodeObject.withdrawStatus()
    await writeMachine(context, machineStatusNow(context, needs, 'Left'))
  }

export interface OwnNode {
  readonly nodeObject: NodeObject
  readonly registersNode: () => boolean
}

export interface NodeWriterNeeds extends OwnNode {
  readonly board: ProblemBoard
}

export function buildNodeWriter(
  context: PartsContext,
  { nodeObject, board, registersNode }: NodeWriterNeeds,
): StatusWriter<KubeObject> {
  const { base, clock, node, facts, version, session, isHost } = context
  const readySince = clock.now()
  const { server, nodeAddress } = session.identity
  const own = ownAddress(
    clock,
    () => addressTowards(server),
    () => writer.touch(),
  )
  // Components of a node that is a folder have their own address.
  const address = () => nodeAddress ?? (isHost ? own.value : context.address)
  const writer = new StatusWriter<KubeObject>({
    ...base,
    name: 'Node',
    heartbeatMs: STATUS_HEARTBEAT_MS,
    compute: () =>
      nodeStatus(
        { name: node, facts, address: address(), version, problems: board.problems, readySince },
        clock.now(),
        {
          ready: registersNode(),
        },
      ),
    isSame: isSameStatus,
    write: (object) => nodeObject.applyStatus(object),
  })
  return writer
}
