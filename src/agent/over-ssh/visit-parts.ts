// The parts of one visit to a host without an agent, and how they are connected: the agent's own, with hands over SSH.
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { SignedTrust, TrustAnchor } from '#api/trust/trust-document.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Channel } from '#ssh/channel.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { AllComponents } from '../components/all-components.ts'
import type { Fetcher } from '../components/fetch.ts'
import { restoreRefusal } from '../components/restore-refusal.ts'
import { stage } from '../components/stage.ts'
import { newestTrust } from '../components/trust-source.ts'
import { TrustStore, trustCondition } from '../components/trust-store.ts'
import { type DriftPast, DriftWatch } from '../drift/drift-watch.ts'
import { filesOverSsh } from '../files/over-ssh.ts'
import type { ReadPool, SessionReads } from '../files/read-pool.ts'
import { frozenCondition, isNodeFrozen, readFrozen } from '../frozen.ts'
import { AGENT_FOLDER } from '../join/program-bundle.ts'
import { sealingKey } from '../join/sealing-key.ts'
import { leaveHost } from '../leave/leave-host.ts'
import { type NodeDir, frozenFile, nodeDir, trustFile, trustFromHostFile } from '../node-dir.ts'
import type { LeaseRenewal } from '../node/lease-renewal.ts'
import { NodeObject } from '../node/node-object.ts'
import { nodeVariables } from '../node-variables.ts'
import { readPermit } from '../permits.ts'
import { preflightOnNode } from '../preflight/on-node.ts'
import { KnownFields } from '../known-fields.ts'
import { askIn } from '../repair/host-service.ts'
import { machineStatus } from '../status/machine-status.ts'
import { Systemd, UnitsPast } from '../supervise/systemd/systemd.ts'
import { groundOverSsh, readFactsOverSsh } from './host-facts.ts'
import { probeOverSsh, probesRefusal } from './probes.ts'
import { hookOverSsh } from './programs.ts'
import { type ConditionsPast, HostConditions } from './conditions/host-conditions.ts'
import { cleanDiskOverSsh } from './repairs/clean-disk.ts'
import { evidenceOverSsh } from './repairs/evidence.ts'
import { HostJobs } from './repairs/host-jobs.ts'
import { type RebootsOverSsh, rebootsOverSsh } from './repairs/reboots.ts'
import { runScriptOverSsh } from './repairs/run-script.ts'
import { unitsOverSsh } from './units.ts'

/** What the rounds of one host remember; lost with the process, as an agent's memory is. */
export interface HostPast {
  readonly units: UnitsPast
  readonly drift: DriftPast
  readonly conditions: ConditionsPast
}

export const newHostPast = (): HostPast => ({ units: new UnitsPast(), drift: new Map(), conditions: {} })

export interface VisitOptions {
  readonly channel: Channel
  /** As last seen. Undefined: it was deleted, or is no longer managed over SSH. */
  readonly machine: () => Machine | undefined
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  readonly trust: { readonly anchor: TrustAnchor; readonly document?: SignedTrust | undefined }
  readonly trustUrl: string
  readonly fetcher: Fetcher
  readonly past: HostPast
  readonly serverVersion: () => Promise<string | undefined>
  /** When the Lease of this Node was last renewed. */
  readonly leaseRenewal: (node: string) => Promise<LeaseRenewal>
  /** Writes the agent's fields of the Machine's status. */
  readonly report: (object: KubeObject) => Promise<void>
  /** Renews the heartbeat. */
  readonly beat: () => Promise<void>
  readonly beatEveryMs: number
  readonly signal: AbortSignal
  /** Of all visits of this process. */
  readonly reads: ReadPool
  /** Only tests change it. */
  readonly dir?: NodeDir
}

/** Where an agent would have its own files, so that one that joins later continues with them. */
export const HOST = nodeDir(AGENT_FOLDER, '/')
/** Where a joined agent has its Node.js: units name it, so they stay the same when an agent takes over. */
const BIN_FOLDER = `${AGENT_FOLDER}/bin`
const LOOPBACK = '127.0.0.1'
/** Each poll is a way to the host and back. */
const POLL_MS = 2_000
export interface Parts {
  readonly components: AllComponents
  readonly systemd: Systemd
  readonly drift: DriftWatch
  readonly reboots: RebootsOverSsh
  readonly conditions: HostConditions
  readonly jobs: HostJobs
  readonly status: (phase?: 'Leaving' | 'Left') => Promise<KubeObject>
  /** Nothing of KubeNode stays on the host, except what components left there. */
  readonly leaveHost: () => Promise<void>
}

export async function buildVisit(o: VisitOptions, first: Machine, reads: SessionReads): Promise<Parts> {
  const { channel, client, clock, random, log, dir = HOST, past, fetcher, signal } = o
  const name = nameOf(first)
  const node = first.status?.nodeRef?.name ?? name
  const files = filesOverSsh(channel, reads)
  const { systemctl, kernel } = unitsOverSsh(channel)
  const facts = await readFactsOverSsh(channel)
  const readAt = clock.monotonic()
  const upMs = (): number => facts.upMs + clock.monotonic() - readAt
  const base = { files, dir, clock, random, log }
  const environment = nodeVariables({ address: LOOPBACK, machine: name, node, root: dir.root, binFolder: BIN_FOLDER })
  const platform = { os: facts.host.os, arch: facts.host.arch }
  const programs = { channel, dir, environment }
  const systemd = new Systemd({
    ...base,
    systemctl,
    kernel,
    environment: withPath(environment),
    pollEveryMs: POLL_MS,
    past: past.units,
  })
  const trust = new TrustStore({
    ...base,
    path: trustFile(dir),
    fromHost: trustFromHostFile(dir),
    anchor: o.trust.anchor,
    fetchNewest: async () =>
      (await newestTrust({ files, dir, fetcher, url: o.trustUrl, log, signal })) ?? o.trust.document,
  })
  const nodeObject = new NodeObject({ client, log, name: node, facts: facts.host, register: () => false })
  const preflight = preflightOnNode({ files, dir, facts: facts.node, ground: groundOverSsh(channel) })
  const server = await o.serverVersion()
  const { bootId } = facts.host
  const reboots = rebootsOverSsh({ systemctl, clock, log, machine: name, bootId, upMs })
  const targets = () => [uidOf(first), nodeObject.knownUid].flatMap((u) => u ?? [])
  // On the host, as an agent's: one that joins later opens the same values.
  const sealing = await sealingKey({ files, dir })
  const secrets = { machine: name, privateKey: async () => sealing.privateKey }
  const staging = { files, dir, client, fetcher, trust, clock, platform, preflight, secrets }
  const components: AllComponents = new AllComponents({
    ...base,
    machine: name,
    processes: systemd,
    runHook: hookOverSsh(programs),
    stage: async (request, stop) => {
      const staged = await stage(staging, request, stop)
      const refusal = probesRefusal(staged.spec, facts.programs)
      if (refusal === undefined) return staged
      const { component, version } = staged.spec
      throw new KubeNodeError(agentErrors.KN8013({ component, version, why: refusal }), {
        retry: 'never',
        data: { reason: 'InvalidSpec' },
      })
    },
    serverVersion: () => server,
    readPermit: async (target, permit, operations) => {
      await nodeObject.uid()
      return readPermit(client, permit, { operations, targets: targets(), target })
    },
    reboots,
    readNodePending: () => nodeObject.isPending(),
    refusal: async (spec) => {
      const now = await trust.current()
      return restoreRefusal(spec, now.kind === 'None' ? undefined : now.document, server)
    },
    isNodeFrozen: isNodeFrozen(files, dir),
    runProbe: (probe, _, watchedMs) =>
      probeOverSsh(
        probe,
        {
          ...programs,
          address: LOOPBACK,
          systemctl,
          now: () => clock.now(),
          leaseRenewal: () => o.leaseRenewal(node),
        },
        watchedMs,
      ),
    onChange: () => undefined,
  })
  const drift = new DriftWatch({
    ...base,
    platform,
    processes: systemd,
    workers: () => components.workers,
    tidy: () => components.sweep(),
    past: past.drift,
    inspectRunning: async () => [],
    onHealed: (component, what) => log.warn('file restored over SSH', { machine: name, component, what }),
    onLeft: (component, what) => log.warn('file is left as it is', { machine: name, component, what }),
  })
  const conditions = new HostConditions({
    ...base,
    channel,
    client,
    node,
    nodeObject,
    facts: facts.host,
    version: o.version,
    upMs,
    components,
    processes: systemd,
    past: past.conditions,
  })
  const jobs = new HostJobs({
    ...base,
    client,
    known: new KnownFields(log),
    machine: name,
    bootId,
    upMs,
    targets,
    nodeUid: () => nodeObject.uid(),
    // Detectors run again in the next round.
    onStep: () => undefined,
    ports: {
      ask: askIn(components, systemctl, () => false),
      cleanDisk: (wanted, stop) => cleanDiskOverSsh(channel, wanted, stop),
      runScript: (wanted, stop) => runScriptOverSsh({ ...staging, channel, environment }, wanted, stop),
      collectEvidence: (wanted, job, stop) => evidenceOverSsh({ channel, files, dir }, wanted.kinds, job, stop),
      reboot: (job) => reboots.request({ job }),
    },
  })
  const status = async (phase?: 'Leaving' | 'Left'): Promise<KubeObject> => {
    const frozen = await readFrozen(files, dir)
    const since = frozen && { ...frozen, sinceMs: frozen.sinceMs ?? clock.now() }
    return machineStatus({
      name,
      facts: facts.host,
      version: o.version,
      channel: 'SSH',
      ...defined({ phase }),
      folder: dir.path,
      publicKey: sealing.publicKey,
      components: components.reports(),
      foreign: components.foreign,
      conditions: [frozenCondition(since, frozenFile(dir)), trustCondition(trust.refusal)].flatMap((c) => c ?? []),
    })
  }
  const leave = async (): Promise<void> => {
    await nodeObject.withdrawStatus()
    await leaveHost({ files, dir, log, systemctl: undefined })
  }
  return { components, systemd, drift, status, reboots, conditions, jobs, leaveHost: leave }
}

/** As the agent gives it to units. */
const withPath = (environment: Readonly<Record<string, string>>) => ({
  ...environment,
  PATH: `${BIN_FOLDER}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
})
