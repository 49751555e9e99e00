// The parts of an agent and how they are connected, one line per part. Nothing here starts anything: agent.ts starts and stops it.
import type { KubeObject } from '#api/schema/object.ts'
import type { AcceptanceRuns } from './acceptance/acceptance-runs.ts'
import type { AllComponents } from './components/all-components.ts'
import type { DriftWatch } from './drift/drift-watch.ts'
import { watchFolder } from './files/folder-watch.ts'
import { FrozenWatch } from './frozen.ts'
import { hasKubelet } from './node/deleted-node.ts'
import { KubeletTrustWatch } from './node/kubelet-trust.ts'
import { NodeObject } from './node/node-object.ts'
import type { StatusWriter } from './node/writer.ts'
import { NoticeWatch } from './notices/notice-watch.ts'
import { buildAcceptance } from './parts/acceptance.ts'
import { buildComponents } from './parts/components.ts'
import { buildDetection, type DetectionParts } from './parts/detection.ts'
import { buildDrift } from './parts/drift.ts'
import { type PartsContext, partsContext, type PartsOptions, type Target } from './parts/context.ts'
import { buildLogs } from './parts/logs.ts'
import { buildMetrics, type ServedMetrics } from './parts/metrics.ts'
import { buildRepairs } from './parts/repairs.ts'
import { buildMachineWriter, buildNodeWriter, reportLeft } from './parts/status-writers.ts'
import { buildSupervisor } from './parts/supervisor.ts'
import { buildTrust } from './parts/trust.ts'
import type { Reboots } from './reboots.ts'
import type { RunningByName } from './running.ts'
import type { WithSelf } from './self/self-process.ts'
import { AGENT_COMPONENT } from './self/switch-file.ts'
import type { Processes } from './supervise/port.ts'
import { defined } from '#lib/defined.ts'

export interface Parts extends Pick<PartsOptions, 'files' | 'dir' | 'config' | 'facts'>, DetectionParts {
  readonly machine: string
  /** The UIDs under which permits may name this node, and the Machine's current order. */
  readonly target: Target
  readonly supervisor: Processes
  readonly components: AllComponents
  readonly metrics: ServedMetrics
  readonly drift: DriftWatch
  readonly jobs: RunningByName
  readonly logs: RunningByName
  readonly notices: NoticeWatch
  readonly acceptance: AcceptanceRuns
  readonly frozen: FrozenWatch
  readonly reboots: Reboots
  /** Whether the agent keeps the Node and its Lease; otherwise a kubelet does. */
  readonly registersNode: () => boolean
  /** Undefined where the node is a folder: the host's kubelet is not the node's. */
  readonly kubelet: KubeletTrustWatch | undefined
  readonly machineWriter: StatusWriter<KubeObject>
  readonly nodeWriter: StatusWriter<KubeObject>
  /** Sends the last report of an agent that leaves. */
  readonly reportLeft: () => Promise<void>
}

/** The list of parts. A part that notifies a later part is called only after all of them are built. */
export function buildParts(o: PartsOptions): Parts {
  const context = partsContext(o)
  const { base, files, dir, config, facts, machine, target } = context
  // A kubelet that the agent installed takes the Node over, and its removal gives it back. One in a folder is no node of the cluster.
  const registersNode = (): boolean => config.registerNode && !(context.isHost && hasKubelet(components.records))
  const nodeObject = buildNodeObject(context, registersNode)
  const targets = (): readonly string[] =>
    [target.machineUid, nodeObject.knownUid].flatMap((u) => (u === undefined ? [] : [u]))
  const onStatus = (): void => machineWriter.touch()
  const supervisor = buildSupervisor(context)
  const trust = buildTrust(context, onStatus)
  const onComponents = (): void => {
    board.read()
    onStatus()
    nodeWriter.touch()
    endTrial(context, supervisor, components)
  }
  const components = buildComponents(context, { supervisor, trust, nodeObject, targets, onChange: onComponents })
  const drift = buildDrift(context, { supervisor, components })
  const onProblems = (): void => nodeWriter.touch()
  const { board, detection } = buildDetection(context, { supervisor, components, nodeObject, onChange: onProblems })
  const onFrozen = (): void => {
    for (const worker of components.workers) worker.wake()
    onStatus()
  }
  const frozen = new FrozenWatch({ ...base, watchFolder, onChange: onFrozen })
  const { metadataOrigins: origins } = o
  const notices = new NoticeWatch({ ...base, onChange: onStatus, ...defined({ origins }) })
  const kubelet = buildKubeletTrust(context, registersNode, onStatus)
  const acceptance = buildAcceptance(context, trust, onStatus)
  const reporting = { supervisor, components, frozen, trust, notices, acceptance, kubelet }
  const machineWriter = buildMachineWriter(context, reporting)
  const nodeWriter = buildNodeWriter(context, { nodeObject, board, registersNode })
  const { repairs, jobs } = buildRepairs(context, { components, trust, detection, nodeObject, targets })
  const logs = buildLogs(context, { supervisor, components })
  const metrics = buildMetrics(context, { detection, board, components, repairs })
  return {
    files,
    dir,
    config,
    facts,
    machine,
    target,
    supervisor,
    components,
    drift,
    board,
    detection,
    metrics,
    jobs,
    logs,
    notices,
    acceptance,
    frozen,
    reboots: context.reboots,
    registersNode,
    kubelet,
    machineWriter,
    nodeWriter,
    reportLeft: reportLeft(context, reporting, { nodeObject, registersNode }),
  }
}

const buildKubeletTrust = (
  { isHost, files, clock, session }: PartsContext,
  registersNode: () => boolean,
  onChange: () => void,
): KubeletTrustWatch | undefined =>
  isHost
    ? new KubeletTrustWatch({
        files,
        clock,
        trusted: session.identity.ca,
        get isExpected() {
          return !registersNode()
        },
        onChange,
      })
    : undefined

const buildNodeObject = (
  { client, log, node, facts, session, target }: PartsContext,
  registersNode: () => boolean,
): NodeObject =>
  new NodeObject({
    client,
    log,
    name: node,
    facts,
    machineUid: session.machineUid,
    // Otherwise a host that was given up, or whose Machine was force-deleted, would leave behind a Node without an owner.
    register: async () => registersNode() && !target.isLeaving && (await session.isMachineThere()),
  })

/** The agent's own new version has settled, or was reverted. */
function endTrial({ log }: PartsContext, supervisor: WithSelf, components: AllComponents): void {
  const own = components.workers.find((w) => w.component === AGENT_COMPONENT)
  if (own !== undefined)
    void supervisor
      .settled(own.record)
      .catch((error: unknown) => log.warn('cannot record the end of the trial', { error }))
}
