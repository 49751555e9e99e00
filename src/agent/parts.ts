// The parts of an agent and how they are connected. Nothing here runs by itself: agent.ts starts and ends it.
import { dirname, resolve } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { AGENT_REPORTER, FIELD_MANAGERS } from '#api/names.ts'
import type { KubeObject } from '#schema/object.ts'
import { agentEvents } from './agent-events.ts'
import { AllComponents } from './components/all-components.ts'
import { createFetcher } from './components/fetch.ts'
import { look } from './components/probe.ts'
import { stage } from './components/stage.ts'
import { newestTrust } from './components/trust-source.ts'
import { trustCondition, TrustStore } from './components/trust-store.ts'
import type { AgentConfig } from '#api/agent-config/agent-config.ts'
import { problemOf, type ComponentProblem } from './detect/component-problems.ts'
import { Detection } from './detect/detection.ts'
import { ProblemBoard } from './detect/problem-board.ts'
import { DriftWatch } from './drift/drift-watch.ts'
import { RunningPrograms } from './drift/running.ts'
import { writeDurably } from './files/durable.ts'
import { watchFolder } from './files/folder-watch.ts'
import type { Files } from './files/port.ts'
import { runHook } from './hook.ts'
import { frozenCondition, FrozenWatch, isNodeFrozen } from './frozen.ts'
import { frozenFile, rebootRequestFile, trustFile, trustFromHostFile, type NodeDir } from './node-dir.ts'
import { KnownFields } from './known-fields.ts'
import { AgentMetrics } from './metrics/agent-metrics.ts'
import { MetricsServer } from './metrics/server.ts'
import { loopbackAddress } from './node/address.ts'
import type { HostFacts } from './node/facts.ts'
import { type DeletedNode, KUBELET, kubeletFinding } from './node/deleted-node.ts'
import { NodeObject } from './node/node-object.ts'
import { isSameStatus, nodeStatus } from './node/node-status.ts'
import { StatusWriter } from './node/writer.ts'
import { WithSelf } from './self/self-process.ts'
import { AGENT_COMPONENT } from './self/switch-file.ts'
import { readPermit } from './permits.ts'
import { preflightOnNode } from './preflight/on-node.ts'
import { readNodeFacts } from './preflight/read.ts'
import { cleanDisk } from './repair/clean-disk.ts'
import { collectEvidence } from './repair/evidence.ts'
import { JobWatches } from './repair/job-watches.ts'
import { RepairCounts } from './repair/repair-counts.ts'
import { endLeftScripts, runScript, type ScriptDeps } from './repair/run-script.ts'
import type { StepPorts } from './repair/steps.ts'
import type { Session } from './session.ts'
import { ServerVersion } from './server-version.ts'
import { machineStatus } from './status/machine-status.ts'
import type { Systemctl } from './supervise/systemd/systemctl.ts'
import { chooseProcesses, systemctlOf } from './supervise/choose.ts'
import type { Processes } from './supervise/port.ts'
import { agentErrors } from './agent-errors.ts'

export interface PartsOptions {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
  readonly version: string
  readonly nodeBinary: string
  readonly isHost: boolean
  readonly slot?: string
  readonly endForSwitch?: () => never
  readonly config: AgentConfig
  readonly facts: HostFacts
  readonly session: Session
  readonly onReboot: () => void
}

interface Target {
  machineUid: string | undefined
  /** The Machine is being deleted, and its Node with it. */
  isLeaving: boolean
  deletedNode: DeletedNode | undefined
}

export interface Parts {
  readonly files: Files
  readonly dir: NodeDir
  readonly config: AgentConfig
  readonly facts: HostFacts
  readonly machine: string
  /** The UIDs under which permits may name this node, and the Machine's current order. */
  readonly target: Target
  readonly supervisor: Processes
  readonly components: AllComponents
  readonly board: ProblemBoard
  readonly detection: Detection
  readonly metrics: MetricsServer | undefined
  readonly drift: DriftWatch
  readonly jobs: JobWatches
  readonly frozen: FrozenWatch
  readonly machineWriter: StatusWriter<KubeObject>
  readonly nodeWriter: StatusWriter<KubeObject>
}

const cannotEnd = (): never => {
  throw new KubeNodeError(agentErrors.KN8050())
}

const MACHINE_OF_EVENTS = { apiVersion: API_GROUP_VERSION, kind: 'Machine' } as const

/** Kubelets report an unchanged status this often too; the Lease is the heartbeat. */
const STATUS_HEARTBEAT_MS = 300_000

export function buildParts(o: PartsOptions): Parts {
  const { files, dir, clock, random, log, config, facts, version, session, signal } = o
  const { client, identity } = session
  const { machine, node } = identity
  const base = { files, dir, clock, random, log }
  const address = config.address ?? (o.isHost ? '127.0.0.1' : loopbackAddress(identity.cluster, machine))
  const binFolder = dirname(o.nodeBinary)
  const environment = {
    PATH: `${binFolder}:/usr/local/bin:/usr/bin:/bin`,
    KUBENODE_ADDRESS: address,
    KUBENODE_MACHINE: machine,
    KUBENODE_NODE: node,
    KUBENODE_ROOT: dir.root,
  }
  const target: Target = { machineUid: undefined, isLeaving: false, deletedNode: undefined }
  const nodeObject = new NodeObject({
    client,
    log,
    name: node,
    facts,
    machineUid: session.machineUid,
    register: () => config.registerNode && !target.isLeaving,
  })
  const targets = (): readonly string[] =>
    [target.machineUid, nodeObject.knownUid].flatMap((u) => (u === undefined ? [] : [u]))
  const { frozenAfterMs, frozenGraceMs } = config
  const systemctl = o.isHost ? systemctlOf() : undefined
  const chosen = chooseProcesses(
    { ...base, binFolder, environment, frozenAfterMs, frozenGraceMs, bootId: facts.bootId },
    systemctl,
  )
  const supervisor = new WithSelf(chosen, { files, dir, slot: o.slot, end: o.endForSwitch ?? cannotEnd })
  const fetcher = createFetcher({ base: identity.artifactBase, allowedOrigins: config.allowedOrigins })
  const eventsOf = agentEvents({ client, clock, machine, machineUid: session.machineUid })
  const machineEvents = eventsOf(AGENT_REPORTER)
  const trust: TrustStore = new TrustStore({
    ...base,
    path: trustFile(dir),
    fromHost: trustFromHostFile(dir),
    anchor: identity.trust,
    fetchNewest: () => newestTrust({ files, dir, fetcher, url: config.trustUrl, log, signal }),
    onRefusal: (refusal) => {
      machineWriter.touch()
      if (refusal === undefined) return
      log.warn('trust document refused', { reason: refusal.message })
      const uid = session.machineUid()
      const regarding = { ...MACHINE_OF_EVENTS, metadata: { name: machine, ...(uid !== undefined && { uid }) } }
      machineEvents.record(regarding, {
        type: 'Warning',
        reason: 'TrustRefused',
        action: 'CheckTrust',
        note: refusal.message,
      })
    },
  })
  const platform = { os: facts.os, arch: facts.arch }
  const preflight = preflightOnNode({ files, dir, facts: readNodeFacts(facts.arch) })
  const secrets = { machine, privateKey: async () => session.sealing.privateKey }
  const server = new ServerVersion(clock, session.serverVersion, () => components.wakeStaged())
  const components: AllComponents = new AllComponents({
    ...base,
    processes: supervisor,
    runHook: runHook(dir, environment),
    stage: (request, stop) =>
      stage({ files, dir, client, fetcher, trust, clock, platform, preflight, secrets }, request, stop),
    serverVersion: () => server.value,
    readPermit: (assigned, permit) =>
      readPermit(client, permit, { operation: 'SwitchComponent', targets: targets(), assigned }),
    readNodePending: () => nodeObject.isPending(),
    isNodeFrozen: isNodeFrozen(files, dir),
    look: (probe) => look(probe, { dir, address, now: () => clock.now(), environment, systemctl }),
    onChange: () => {
      board.look()
      machineWriter.touch()
      const own = components.workers.find((w) => w.component === AGENT_COMPONENT)
      if (own !== undefined)
        void supervisor
          .settled(own.record)
          .catch((error: unknown) => log.warn('cannot record the end of the trial', { error }))
    },
  })
  const running = new RunningPrograms(dir)
  const drift = new DriftWatch({
    ...base,
    platform,
    processes: supervisor,
    workers: () => components.workers,
    tidy: () => components.sweep(),
    watchFolder,
    lookAtRunning: async (inUse) => {
      const pid = supervisor.main?.(inUse.component)
      const ofNode = inUse.component === KUBELET ? kubeletFinding(target.deletedNode, pid) : []
      return [...ofNode, ...(await running.look(inUse, pid))]
    },
  })
  const board: ProblemBoard = new ProblemBoard({
    ...base,
    bootId: facts.bootId,
    sources: config.logs,
    clearAfterMs: config.clearAfterMs,
    components: () => {
      const found = problemsOf(components, supervisor)
      detection.detectors.noteComponents(found)
      return found
    },
    onChange: () => nodeWriter.touch(),
    onTurn: (problem) => detection.turned(problem),
  })
  const detection: Detection = new Detection({
    ...base,
    bootId: facts.bootId,
    client,
    agentEvents: eventsOf,
    node,
    nodeUid: () => nodeObject.knownUid,
    config: config.detect,
    board,
    components: () => problemsOf(components, supervisor),
  })
  const known = new KnownFields(log)
  const frozen = new FrozenWatch({
    ...base,
    watchFolder,
    onChange: () => {
      for (const worker of components.workers) worker.wake()
      machineWriter.touch()
    },
  })
  const machineWriter: StatusWriter<KubeObject> = new StatusWriter<KubeObject>({
    ...base,
    name: 'Machine',
    compute: () =>
      machineStatus({
        name: machine,
        facts,
        version,
        folder: resolve(dir.path),
        publicKey: session.sealing.publicKey,
        certificate: session.certificateLife(),
        components: components.reports(),
        conditions: [frozenCondition(frozen.frozen, frozenFile(dir)), trustCondition(trust.refusal)].flatMap(
          (c) => c ?? [],
        ),
      }),
    isSame: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    write: async (object) => {
      const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
      await known.apply(client, machineType, object, options)
      await supervisor.reported()
    },
  })
  const readySince = clock.now()
  const nodeWriter: StatusWriter<KubeObject> = new StatusWriter<KubeObject>({
    ...base,
    name: 'Node',
    heartbeatMs: STATUS_HEARTBEAT_MS,
    compute: () =>
      nodeStatus({ name: node, facts, address, version, problems: board.problems, readySince }, clock.now(), {
        ready: config.registerNode,
      }),
    isSame: isSameStatus,
    write: (object) => nodeObject.applyStatus(object),
  })
  const left = endLeftScripts(dir)
  if (left > 0) log.warn('ended processes left by a previous agent', { processes: left })
  const repairs = new RepairCounts()
  const jobs = new JobWatches({
    ...base,
    client,
    known,
    machine,
    targets,
    bootId: facts.bootId,
    nodeUid: () => nodeObject.uid(),
    onStep: (operation, outcome, beganAt) => {
      repairs.note(operation, outcome)
      if (outcome === 'Succeeded') detection.repaired(operation, beganAt)
    },
    ports: stepPorts(o, components, systemctl, { files, dir, client, fetcher, trust, clock, platform, environment }),
  })
  const agentMetrics = new AgentMetrics({
    detection,
    problems: () => board.problems,
    components: () => components.reports(),
    repairs: () => repairs.all,
    version,
    nowMs: () => clock.monotonic(),
  })
  const { metricsPort } = config.detect
  const metrics =
    metricsPort === undefined
      ? undefined
      : new MetricsServer({ address, port: metricsPort, log, clock, text: () => agentMetrics.text() })
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
    frozen,
    machineWriter,
    nodeWriter,
  }
}

function problemsOf(
  components: AllComponents,
  supervisor: Processes,
): ReadonlyMap<string, ComponentProblem | undefined> {
  return new Map(
    components.workers.map(({ component, record, probes, startProblem }) => {
      const process = supervisor.reading(component)
      const why = supervisor.describe(component)
      return [component, problemOf({ record, process, why, probes, startProblem })]
    }),
  )
}

function stepPorts(
  { files, dir, clock, log, facts, onReboot }: PartsOptions,
  components: AllComponents,
  systemctl: Systemctl | undefined,
  scripts: ScriptDeps,
): StepPorts {
  return {
    ask: (component, kind) => components.ask(component, kind),
    cleanDisk: (wanted, stop) => cleanDisk({ dir, clock }, wanted, stop),
    runScript: (wanted, stop) => runScript(scripts, wanted, stop),
    collectEvidence: (wanted, job, stop) => collectEvidence({ files, dir, clock }, wanted.kinds, job, stop),
    reboot: async (job) => {
      const request = { job, bootId: facts.bootId, at: clock.now() }
      await writeDurably(files, rebootRequestFile(dir), JSON.stringify(request))
      log.warn('reboot requested', { job })
      // A host does it itself; for a folder its provider does.
      await systemctl?.run('--no-block', 'reboot')
      onReboot()
    },
  }
}
