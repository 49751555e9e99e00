// The agent of one node, from start to exit: joins, adopts running components, watches its Machine, reports, repairs. Everything that must work without
// the API server starts before the first request to it.
import { mkdirSync } from 'node:fs'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { NODE_LEASES, agentLeaseKey } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { readState, removeDurably } from './files/durable.ts'
import { realFiles } from './files/real.ts'
import { awaitNodeLock } from './join/lock.ts'
import { refuseBesideOther } from './join/other-host.ts'
import { keepOrder, orderOf, parseOrder, withoutSwitches, type MachineOrder } from './machine-order.ts'
import { configInForce, joinedConfig } from './config-source.ts'
import { watchConfig } from './config-watch.ts'
import { leaveHost } from './leave/leave-host.ts'
import { leave } from './leave/leave.ts'
import { isLeaveRequested, readLeaving, recordLeaving, type Leaving } from './leave/leaving.ts'
import { hasOwnIdentity, sessionAlone } from './leave/session-alone.ts'
import { machineFile, nodeDir, rebootRequestFile, type NodeDir } from './node-dir.ts'
import { isNodeDeleted, KUBELET } from './node/deleted-node.ts'
import { readHostFacts } from './node/facts.ts'
import { keepLeases } from './node/leases.ts'
import { buildParts, type Parts } from './parts.ts'
import type { NoticeWatchDeps } from './notices/notice-watch.ts'
import { openSession, type Session } from './session.ts'
import { EACH_TICK_MS, withSharedTick } from './shared-tick.ts'
import { hasReport, lacksReport } from './status/machine-status.ts'
import { systemctlOf } from './supervise/choose.ts'
import { watchNamed } from './watch.ts'

export interface AgentOptions {
  readonly path: string
  /** The node is this host, not a folder: paths are the host's, and systemd runs the components if it runs the host. */
  readonly host?: boolean
  readonly version: string
  /** The slot that the agent itself runs from, as set by its supervisor. */
  readonly slot?: string
  /** Exits so that the supervisor starts another copy. */
  readonly endForSwitch?: () => never
  /** Exits when the supervisor has ended: the next supervisor starts its own agent. Undefined without a supervisor. */
  readonly endIfOrphan?: () => void
  /** The Node.js program that runs the agent; components that are scripts find it in their PATH. */
  readonly nodeBinary: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Addresses of the clouds' metadata services; only tests change them. */
  readonly metadataOrigins?: NoticeWatchDeps['origins']
  /** Ends the agent. Components keep running. */
  readonly signal: AbortSignal
}

/**
 * Left: the agent removed itself, or a unit is removing it. Reboot: the provider restarts the node; the request is a file in its folder. Reload: the
 * configuration changed, restart the agent.
 */
export type AgentEnd = 'Stopped' | 'Reboot' | 'Reload' | 'Left'

/** An agent that lost its supervisor exits within a second, whatever it is doing. */
const LAST_ONE_ENDS_MS = 15_000
/** An unreachable API server must not block a reboot. */
const LAST_REPORT_MS = 2_000

export async function runAgent(given: AgentOptions): Promise<AgentEnd> {
  const options = { ...given, clock: withSharedTick(given.clock) }
  const { log, version } = options
  const dir = nodeDir(options.path, options.host === true ? '/' : undefined)
  for (const folder of [dir.root, dir.state, dir.logs]) mkdirSync(folder, { recursive: true })
  const lock = await awaitNodeLock(dir.state, options.endIfOrphan === undefined ? 0 : LAST_ONE_ENDS_MS)
  const orphan = watchSupervisor(options)
  try {
    const files = realFiles
    const before = await readLeaving({ files, dir })
    if (before?.phase === 'Host') return await leftHost(options, dir)
    const stop = new AbortController()
    const signal = AbortSignal.any([options.signal, stop.signal])
    const inForce = await configInForce({ files, dir, log })
    const { config: joined, problems } = joinedConfig(inForce)
    for (const problem of problems) log.warn('configuration ignored', { problem })
    const facts = await readHostFacts(files, dir)
    const isRequested = await isLeaveRequested({ files, dir })
    const session =
      isRequested && !(await hasOwnIdentity({ files, dir }))
        ? await sessionAlone({ files, dir })
        : await openSession({ ...options, files, dir, signal })
    if (options.host === true && session.isAlone !== true) {
      const { client, identity } = session
      const boot = { machine: identity.machine, bootId: facts.bootId, everyMs: joined.leaseMs }
      await refuseBesideOther({ files, dir, clock: options.clock, log, client, signal, ...boot })
    }
    // Either source can hand the Node to a kubelet; neither can take it back.
    const config = { ...joined, registerNode: joined.registerNode && session.identity.registerNode !== false }
    let end = 'Stopped' as AgentEnd
    const onReboot = (): void => {
      end = 'Reboot'
      stop.abort(new Error('the node is rebooting'))
    }
    const configWatch = watchConfig({ files, dir, clock: options.clock, log, inForce }, () => {
      end = 'Reload'
      stop.abort(new Error('the configuration changed'))
    })
    const parts = buildParts({
      ...options,
      isHost: options.host ?? false,
      files,
      dir,
      signal,
      config,
      facts,
      session,
      onReboot,
    })
    await parts.supervisor.adopt()
    await forgetOldReboot(parts)
    await parts.components.load()
    await parts.acceptance.load()
    await parts.board.start()
    await parts.detection.start()
    await parts.metrics.start()
    parts.drift.start()
    await parts.frozen.start()
    await parts.kubelet?.check()
    await obeyKept(parts)
    const onLeft = (): void => {
      end = 'Left'
      stop.abort(new Error('the host was handed back'))
    }
    const tools = { ...options, parts, session, signal, onLeft }
    if (before !== undefined) beginLeaving(tools, before)
    else if (isRequested)
      // Runs in parallel with the heartbeats, because the disk may be full.
      void orderToLeave(tools, { format: 1, by: 'Person', phase: 'Components' }).catch(() => undefined)
    void session.followAuthorities().then(
      () => {
        if (signal.aborted) return
        end = 'Reload'
        stop.abort(new Error('the authorities of the cluster changed'))
      },
      // The sleep throws when the signal aborts; if the disk is full, the next start retries.
      () => undefined,
    )
    parts.machineWriter.touch()
    parts.nodeWriter.touch()
    log.info('agent started', { machine: session.identity.machine, version, bootId: facts.bootId })
    const forever = session.isAlone === true ? [] : runForever(tools)
    await aborted(signal)
    configWatch.close()
    log.info('agent stopping', { end })
    await closeParts(parts, end)
    session.client.close()
    await Promise.allSettled(forever)
    return end === 'Left' ? await leftHost(options, dir) : end
  } finally {
    orphan.cancel()
    lock.release()
  }
}

function watchSupervisor({ clock, endIfOrphan }: AgentOptions): { cancel(): void } {
  if (endIfOrphan === undefined) return { cancel: () => undefined }
  let timer = { cancel: (): void => undefined }
  const check = (): void => {
    endIfOrphan()
    timer = clock.after(EACH_TICK_MS, check)
  }
  check()
  return { cancel: () => timer.cancel() }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

interface Tools extends Pick<AgentOptions, 'clock' | 'random' | 'log'> {
  readonly parts: Parts
  readonly session: Session
  readonly signal: AbortSignal
  readonly onLeft: () => void
}

function runForever(tools: Tools): readonly Promise<void>[] {
  const { clock, random, log, parts, signal } = tools
  const { client, identity, keep, machineUid, isMachineThere } = tools.session
  const { machine, node } = identity
  const common = { client, clock, random, log }
  const lease = { ...common, everyMs: parts.config.leaseMs }
  const ours = { machineUid, isWanted: isMachineThere }
  const own = { ...agentLeaseKey(machine), holder: machine, ...ours }
  const ofNode = {
    namespace: NODE_LEASES,
    name: node,
    holder: node,
    ...ours,
    isOurs: parts.registersNode,
    onBack: () => parts.nodeWriter.again(),
  }
  const onObject = (found: Machine | undefined) => obeyMachine(tools, found)
  const onListed = (found: Machine | undefined) => {
    if (found !== undefined) parts.machineWriter.compare((written) => hasReport(found, written))
  }
  // After the last report, do not recreate a Lease that was deleted with the Machine.
  const isLast = parts.target.leaving?.phase === 'Report'
  const leases = isLast ? [] : [own, ofNode]
  return [
    watchNamed({ ...common, type: machineType, name: machine, onObject, onListed }, signal),
    keepLeases(lease, leases, signal),
    keep(() => parts.machineWriter.touch()),
    // The sleep throws when the signal aborts.
    parts.kubelet?.follow(signal).catch(() => undefined) ?? Promise.resolve(),
  ]
}

/** Writes the order to disk first: after that, only the end of the host stops it. */
async function orderToLeave(tools: Tools, leaving: Leaving): Promise<void> {
  const { parts, clock, log, signal } = tools
  await recordLeaving({ files: parts.files, dir: parts.dir, clock, log, signal }, leaving)
  beginLeaving(tools, leaving)
}

function beginLeaving({ parts, session, signal, clock, log, onLeft }: Tools, leaving: Leaving): void {
  const { files, dir, components, target } = parts
  log.warn('the agent leaves its host', { by: leaving.by, phase: leaving.phase })
  target.leaving = leaving
  components.leave(leaving.isObserved === true)
  parts.machineWriter.touch()
  const report = async (): Promise<void> => {
    parts.machineWriter.close()
    parts.nodeWriter.close()
    if (session.isAlone !== true) await parts.reportLeft()
  }
  void leave({ files, dir, clock, log, areComponentsOff: () => components.areOff, report, signal }, leaving)
    .then(onLeft)
    .catch((error: unknown) => {
      if (!signal.aborted) log.error('cannot leave the host', { error })
    })
}

async function leftHost({ host, log }: AgentOptions, dir: NodeDir): Promise<AgentEnd> {
  await leaveHost({ files: realFiles, dir, log, systemctl: host === true ? systemctlOf() : undefined })
  return 'Left'
}

/** Follows the last order on disk, without jobs and switch orders: those are valid only when freshly read. */
async function obeyKept(parts: Parts): Promise<void> {
  const kept = await readState(parts.files, machineFile(parts.dir), parseOrder)
  if (kept?.name === parts.machine) obey(parts, { ...withoutSwitches(kept), jobs: [] })
}

async function obeyMachine(tools: Tools, found: Machine | undefined): Promise<void> {
  const { parts, session } = tools
  // A deleted Machine is not an order: components keep running until a user removes the node.
  if (found === undefined || parts.target.leaving !== undefined) return
  const order = orderOf(found)
  // Only the agent's own Machine counts. A later Machine with the same name, for example from a restored backup, never makes the agent leave.
  if (order.leaving === true && order.uid === session.machineUid()) {
    const isObserved = order.isObserved === true && found.metadata.deletionTimestamp === undefined
    await orderToLeave(tools, { format: 1, by: 'Machine', phase: 'Components', ...(isObserved && { isObserved }) })
    return
  }
  // A different object with the same name has an empty status.
  if (parts.target.machineUid !== undefined && parts.target.machineUid !== order.uid) parts.machineWriter.again()
  parts.machineWriter.compare((written) => !lacksReport(found, written))
  obey(parts, order)
  parts.logs.watch(found.spec.logs ?? [])
  parts.acceptance.obey(found)
  noteNode(parts, found)
  // Saved so that the agent can start without the API server. A full disk must not stop the agent from following the order.
  await keepOrder(parts.files, machineFile(parts.dir), order)
}

function obey(parts: Parts, order: MachineOrder): void {
  parts.target.machineUid = order.uid
  parts.target.machineClass = order.class ?? ''
  parts.components.obey(order)
  parts.jobs.watch(order.jobs)
  parts.notices.obey(order.notices)
  parts.machineWriter.touch()
}

function noteNode({ target, registersNode, nodeWriter, supervisor, drift }: Parts, found: Machine): void {
  target.isLeaving = found.metadata.deletionTimestamp !== undefined
  if (!isNodeDeleted(found)) {
    target.deletedNode = undefined
    return
  }
  if (registersNode()) return nodeWriter.again()
  const { name = '' } = found.status?.nodeRef ?? {}
  target.deletedNode ??= { name, kubelet: supervisor.main?.(KUBELET) }
  return drift.inspectSoon(KUBELET)
}

async function forgetOldReboot({ files, dir, facts }: Parts): Promise<void> {
  const path = rebootRequestFile(dir)
  const asked = await readState(files, path, (v) => (isObject(v) ? v : undefined))
  if (asked !== undefined && asked['bootId'] !== facts.bootId) await removeDurably(files, path)
}

async function closeParts(parts: Parts, end: AgentEnd): Promise<void> {
  const { jobs, logs, machineWriter, nodeWriter, components, drift, board, supervisor } = parts
  // Report the reboot before the machine goes silent.
  if (end === 'Reboot') await machineWriter.flush(LAST_REPORT_MS)
  parts.frozen.close()
  await jobs.close()
  await logs.close()
  await parts.notices.close()
  await parts.acceptance.close()
  await drift.close()
  machineWriter.close()
  nodeWriter.close()
  await components.close()
  await parts.detection.close()
  await parts.metrics.stop()
  await board.close()
  // If a step hangs in the kernel, it ends with the boot.
  if (end === 'Reboot') await components.stopAll()
  supervisor.close()
  if (end === 'Reboot') await parts.reboots.begin()
}
