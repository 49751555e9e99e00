// One round of work on a host without an agent, in one session: the same components, plans and journal as an agent's, with hands over SSH. It ends when only
// time would change anything, or when the session is over; a switch that is open then continues in the next round from the journal on the host, as after a
// crash of an agent.
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { SignedTrust, TrustAnchor } from '#api/trust/trust-document.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Channel } from '#ssh/channel.ts'
import type { Conversation } from '#ssh/ssh-sessions.ts'
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
import { frozenCondition, isNodeFrozen, readFrozen } from '../frozen.ts'
import { AGENT_FOLDER } from '../join/program-bundle.ts'
import { leaveHost } from '../leave/leave-host.ts'
import { orderOf } from '../machine-order.ts'
import { type NodeDir, frozenFile, nodeDir, trustFile, trustFromHostFile } from '../node-dir.ts'
import type { LeaseRenewal } from '../node/lease-renewal.ts'
import { NodeObject } from '../node/node-object.ts'
import { nodeVariables } from '../node-variables.ts'
import { readPermit } from '../permits.ts'
import { preflightOnNode } from '../preflight/on-node.ts'
import { machineStatus } from '../status/machine-status.ts'
import { Systemd, UnitsPast } from '../supervise/systemd/systemd.ts'
import { groundOverSsh, readFactsOverSsh } from './host-facts.ts'
import { visitPrelude } from './prelude.ts'
import { probeOverSsh, probesRefusal } from './probes.ts'
import { hookOverSsh } from './programs.ts'
import { unitsOverSsh } from './units.ts'

/** What the rounds of one host remember; lost with the process, as an agent's memory is. */
export interface HostPast {
  readonly units: UnitsPast
  readonly drift: DriftPast
}

export const newHostPast = (): HostPast => ({ units: new UnitsPast(), drift: new Map() })

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
  /** Only tests change it. */
  readonly dir?: NodeDir
}

/** Where an agent would have its own files, so that one that joins later continues with them. */
const HOST = nodeDir(AGENT_FOLDER, '/')
/** Where a joined agent has its Node.js: units name it, so they stay the same when an agent takes over. */
const BIN_FOLDER = `${AGENT_FOLDER}/bin`
const LOOPBACK = '127.0.0.1'
const TICK_MS = 500
/** Each poll is a way to the host and back. */
const POLL_MS = 2_000
/** A switch with its hooks and its settle time; what takes longer continues in the next round. */
const LONGEST_MS = 20 * 60_000

/** A session for a visit. */
export const visitSession = (
  login: Pick<Conversation, 'target' | 'identity' | 'sudo'>,
  dir: NodeDir = HOST,
): Conversation => ({ ...login, prelude: visitPrelude(dir) })

export async function visit(options: VisitOptions): Promise<void> {
  const first = options.machine()
  if (first === undefined) return
  const parts = await buildVisit(options, first)
  const { components, systemd, drift } = parts
  const beat = new Beat(options)
  try {
    await systemd.adopt()
    await components.load()
    beat.start()
    await work(options, parts, first)
  } finally {
    beat.stop()
    // Without a session nothing of it can continue; with one, steps under way end first.
    await drift.close()
    await components.close()
    systemd.close()
  }
}

interface Parts {
  readonly components: AllComponents
  readonly systemd: Systemd
  readonly drift: DriftWatch
  readonly status: (phase?: 'Leaving' | 'Left') => Promise<KubeObject>
  /** Nothing of KubeNode stays on the host, except what components left there. */
  readonly leaveHost: () => Promise<void>
}

/** As long as the session lasts, also while one step of it takes long. */
class Beat {
  readonly #o: VisitOptions
  #timer: { cancel(): void } | undefined
  #isOver = false

  constructor(options: VisitOptions) {
    this.#o = options
  }

  start(): void {
    const { beat, beatEveryMs, channel, clock, log } = this.#o
    if (this.#isOver || channel.closed !== undefined) return
    void beat().catch((error: unknown) => log.warn('cannot renew the heartbeat', { error }))
    this.#timer = clock.after(beatEveryMs, () => this.start())
  }

  stop(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }
}

async function work(
  { channel, machine, clock, report, signal }: VisitOptions,
  parts: Parts,
  first: Machine,
): Promise<void> {
  const { components, drift, status } = parts
  let obeyed: Machine | undefined
  let isLeaving = false
  let reported: KubeObject | undefined
  let isInspected = false
  const until = clock.monotonic() + LONGEST_MS
  while (channel.closed === undefined && !signal.aborted && clock.monotonic() < until) {
    const now = machine()
    // A Machine of the same name is another one, and so is its host.
    if (now === undefined || uidOf(now) !== uidOf(first)) return
    if (now.metadata.generation !== obeyed?.metadata.generation) {
      const order = orderOf(now)
      if (order.leaving === true && !isLeaving) {
        components.leave(order.isObserved === true && now.metadata.deletionTimestamp === undefined)
        isLeaving = true
      } else components.obey(order)
      obeyed = now
      isInspected = false
    }
    if (isLeaving && components.areOff) {
      await drift.close()
      const last = await status('Left')
      await parts.leaveHost()
      return report(last)
    }
    if (components.areQuiet && !isInspected) {
      isInspected = true
      await drift.inspectAll()
      continue
    }
    const isQuiet = components.areQuiet
    const object = await status(isLeaving ? 'Leaving' : undefined)
    // What could not be read because the session is over is no news of the host.
    if (channel.closed !== undefined) return
    if (!jsonEqual(object, reported)) {
      await report(object)
      reported = object
    } else if (isQuiet) return
    else await clock.sleep(TICK_MS, signal)
  }
}

async function buildVisit(o: VisitOptions, first: Machine): Promise<Parts> {
  const { channel, client, clock, random, log, dir = HOST, past, fetcher, signal } = o
  const name = nameOf(first)
  const node = first.status?.nodeRef?.name ?? name
  const files = filesOverSsh(channel)
  const { systemctl, kernel } = unitsOverSsh(channel)
  const facts = await readFactsOverSsh(channel)
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
  const components: AllComponents = new AllComponents({
    ...base,
    machine: name,
    processes: systemd,
    runHook: hookOverSsh(programs),
    stage: async (request, stop) => {
      const staged = await stage({ files, dir, client, fetcher, trust, clock, platform, preflight }, request, stop)
      const refusal = probesRefusal(staged.spec)
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
      const targets = [uidOf(first), nodeObject.knownUid].flatMap((u) => u ?? [])
      return readPermit(client, permit, { operations, targets, target })
    },
    reboots: {
      boot: async () => ({
        id: facts.host.bootId,
        upMs: facts.upMs,
        bootedAt: clock.now() - facts.upMs,
        isRequested: false,
        refusal: 'machines without an agent are not rebooted for components',
      }),
      request: async () => undefined,
      withdraw: async () => undefined,
    },
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
      components: components.reports(),
      foreign: components.foreign,
      conditions: [frozenCondition(since, frozenFile(dir)), trustCondition(trust.refusal)].flatMap((c) => c ?? []),
    })
  }
  return { components, systemd, drift, status, leaveHost: () => leaveHost({ files, dir, log, systemctl: undefined }) }
}

/** As the agent gives it to units. */
const withPath = (environment: Readonly<Record<string, string>>) => ({
  ...environment,
  PATH: `${BIN_FOLDER}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
})
