// The agent of one node, from its start to its end: joins, takes up what runs, watches its Machine, reports, repairs. Everything that outlives a
// missing API server is started before the API server is asked for anything.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { isAlreadyExists, isNotFound } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { agentLeaseName, FIELD_MANAGERS, SYSTEM_NAMESPACE, TAINTS } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import { AllComponents } from './components/all-components.ts'
import { createFetcher } from './components/fetch.ts'
import { look } from './components/probe.ts'
import { stage } from './components/stage.ts'
import { TrustStore } from './components/trust-store.ts'
import { parseConfig } from './config.ts'
import { problemOf } from './detect/component-problems.ts'
import { ProblemBoard } from './detect/problem-board.ts'
import { readState, removeDurably, writeDurably } from './files/durable.ts'
import { realFiles } from './files/real.ts'
import { runHook } from './hook.ts'
import { writePair, type Pair } from './join/identity.ts'
import { joinCluster } from './join/join.ts'
import { takeNodeLock } from './join/lock.ts'
import { newKey, requestCertificate } from './join/request.ts'
import { keepRenewing } from './join/rotation.ts'
import { orderOf, parseOrder, withoutSwitches, type MachineOrder } from './machine-order.ts'
import { configFile, firstTrustFile, machineFile, nodeDir, rebootRequestFile, trustFile } from './node-dir.ts'
import { loopbackAddress } from './node/address.ts'
import { readHostFacts } from './node/facts.ts'
import { keepLease } from './node/leases.ts'
import { isSameStatus, newNode, nodeStatus } from './node/node-status.ts'
import { nodeType } from './node/types.ts'
import { StatusWriter } from './node/writer.ts'
import { readPermit } from './permits.ts'
import { cleanDisk } from './repair/clean-disk.ts'
import { collectEvidence } from './repair/evidence.ts'
import { JobWatches } from './repair/job-watches.ts'
import { machineStatus } from './status/machine-status.ts'
import { Supervisor } from './supervise/supervisor.ts'
import { watchNamed } from './watch.ts'

export interface AgentOptions {
  /** The node's folder. */
  readonly path: string
  readonly version: string
  /** The program that we run on; components that are scripts find it in their PATH. */
  readonly nodeBinary: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Ends the agent. Components go on running. */
  readonly signal: AbortSignal
}

/** Reboot: the provider shall start the node again; the request lies in its folder. */
export type AgentEnd = 'Stopped' | 'Reboot'

const MAX_TRUST_BYTES = 2 ** 20
/** Kubelets report an unchanged status this often too; the Lease is the heartbeat. */
const STATUS_HEARTBEAT_MS = 300_000
const NODE_LEASES = 'kube-node-lease'

export async function runAgent(options: AgentOptions): Promise<AgentEnd> {
  const { clock, random, log, version } = options
  const dir = nodeDir(options.path)
  for (const folder of [dir.root, dir.state, dir.logs]) mkdirSync(folder, { recursive: true })
  const lock = await takeNodeLock(dir.state)
  const files = realFiles
  const stop = new AbortController()
  const onStop = (): void => stop.abort(options.signal.reason)
  if (options.signal.aborted) onStop()
  options.signal.addEventListener('abort', onStop, { once: true })
  let end = 'Stopped' as AgentEnd

  const { config, problems } = parseConfig(await readState(files, configFile(dir), (v) => v))
  for (const problem of problems) log.warn('configuration not used', { problem })
  const facts = await readHostFacts(files, dir)
  const userAgent = `kubenode-agent/${version}`
  const joined = await joinCluster({
    files,
    dir,
    clock,
    log,
    signal: stop.signal,
    connect: (connection) => new HttpKubeClient(connection, { clock, random, userAgent }),
  })
  const { identity } = joined
  let pair: Pair = joined.pair
  const client = new HttpKubeClient(
    {
      server: identity.server,
      ca: { data: identity.ca },
      identity: async () => ({ clientCertificate: { cert: pair.certificate, key: pair.key }, goodForMs: 60_000 }),
    },
    { clock, random, userAgent },
  )
  const { machine, node } = identity
  const address = config.address ?? loopbackAddress(identity.cluster, machine)
  const binFolder = dirname(options.nodeBinary)
  const environment = {
    PATH: `${binFolder}:/usr/local/bin:/usr/bin:/bin`,
    KUBENODE_ADDRESS: address,
    KUBENODE_MACHINE: machine,
    KUBENODE_NODE: node,
    KUBENODE_ROOT: dir.root,
  }
  const supervisor = new Supervisor({
    files,
    dir,
    clock,
    log,
    binFolder,
    environment,
    frozenAfterMs: config.frozenAfterMs,
    frozenGraceMs: config.frozenGraceMs,
  })
  await supervisor.adopt()

  const fetcher = createFetcher({ base: identity.artifactBase, allowedOrigins: config.allowedOrigins })
  const trust = new TrustStore({
    files,
    path: trustFile(dir),
    clock,
    anchor: identity.trust,
    fetchNewest: async () => (await fetchTrust()) ?? (await readState(files, firstTrustFile(dir), (v) => v)),
  })
  async function fetchTrust(): Promise<unknown> {
    try {
      const chunks: Buffer[] = []
      for await (const chunk of fetcher.open(config.trustUrl, MAX_TRUST_BYTES, stop.signal)) chunks.push(chunk)
      return JSON.parse(Buffer.concat(chunks).toString('utf8'))
    } catch (error) {
      log.debug('trust document not fetched', { error: messageOf(error) })
      return undefined
    }
  }

  let machineUid: string | undefined
  let nodeUid: string | undefined
  const readNode = async (): Promise<KubeObject | undefined> => {
    const found = await client.get(nodeType, { name: node })
    nodeUid = found?.metadata.uid
    return found
  }
  const targets = (): readonly string[] => [machineUid, nodeUid].flatMap((u) => (u === undefined ? [] : [u]))

  const components = new AllComponents({
    files,
    dir,
    clock,
    random,
    log,
    processes: supervisor,
    runHook: runHook(dir, environment),
    stage: (request, signal) =>
      stage(
        { files, dir, client, fetcher, trust, clock, platform: { os: facts.os, arch: facts.arch } },
        request,
        signal,
      ),
    readPermit: (component, wanted, permit) =>
      readPermit(client, permit, {
        operation: 'SwitchComponent',
        targets: targets(),
        component: { name: component, ...(wanted === undefined ? {} : { version: wanted }) },
      }),
    readNodePending: async () => {
      try {
        const found = await readNode()
        return found === undefined ? undefined : hasTaint(found, TAINTS.componentsPending)
      } catch {
        return undefined
      }
    },
    look: (probe) => look(probe, { dir, address, now: () => clock.now(), environment }),
    onChange: () => {
      board.look()
      machineWriter.touch()
    },
  })
  const board: ProblemBoard = new ProblemBoard({
    files,
    dir,
    clock,
    log,
    bootId: facts.bootId,
    sources: config.logs,
    clearAfterMs: config.clearAfterMs,
    components: () =>
      new Map(
        components.workers.map(({ component, record, probes }) => [
          component,
          problemOf({
            record,
            probes,
            process: record?.current === undefined ? 'NoService' : readingOf(component),
            why: supervisor.describe(component),
          }),
        ]),
      ),
    onChange: () => nodeWriter.touch(),
  })
  // A component without a service has no process, which is no problem.
  const readingOf = (component: string) => {
    const reading = supervisor.reading(component)
    return reading === 'Stopped' ? 'NoService' : reading
  }

  const readySince = clock.now()
  const apply = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
  const machineWriter: StatusWriter<KubeObject> = new StatusWriter<KubeObject>({
    clock,
    random,
    log,
    name: 'Machine',
    compute: () => machineStatus({ name: machine, facts, version, components: components.reports() }),
    isSame: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    write: async (object) => {
      await client.apply(machineType, object, apply)
    },
  })
  const nodeWriter: StatusWriter<KubeObject> = new StatusWriter<KubeObject>({
    clock,
    random,
    log,
    name: 'Node',
    heartbeatMs: STATUS_HEARTBEAT_MS,
    compute: () =>
      nodeStatus({ name: node, facts, address, version, problems: board.problems, readySince }, clock.now(), {
        ready: config.registerNode,
      }),
    isSame: isSameStatus,
    write: async (object) => {
      if (nodeUid === undefined && (await readNode()) === undefined && config.registerNode) await register()
      try {
        await client.apply(nodeType, object, apply)
      } catch (e) {
        if (isNotFound(e)) nodeUid = undefined
        throw e
      }
    },
  })
  async function register(): Promise<void> {
    try {
      const made = await client.create(nodeType, newNode({ name: node, facts }), { fieldManager: FIELD_MANAGERS.agent })
      nodeUid = made.metadata.uid
      log.info('node registered', { node })
    } catch (e) {
      if (!isAlreadyExists(e)) throw e
      await readNode()
    }
  }

  const jobs = new JobWatches({
    files,
    dir,
    client,
    clock,
    random,
    log,
    machine,
    bootId: facts.bootId,
    targets,
    nodeUid: async () => nodeUid ?? (await readNode())?.metadata.uid,
    ports: {
      ask: (component, kind) => components.ask(component, kind),
      cleanDisk: async (wanted) => cleanDisk(dir, wanted, clock.now()),
      collectEvidence: (wanted, job) => collectEvidence({ files, dir }, wanted.kinds, job),
      reboot: async (job) => {
        await writeDurably(
          files,
          rebootRequestFile(dir),
          JSON.stringify({ job, bootId: facts.bootId, at: clock.now() }),
        )
        log.warn('reboot requested', { job })
        end = 'Reboot'
        stop.abort(new Error('the node reboots'))
      },
    },
  })

  const obey = (order: MachineOrder): void => {
    machineUid = order.uid
    components.obey(order)
    jobs.watch(order.jobs)
    machineWriter.touch()
  }
  await forgetOldReboot()
  await components.load()
  await board.start()
  const kept = await readState(files, machineFile(dir), parseOrder)
  if (kept !== undefined && kept.name === machine) {
    const { jobs: _jobs, ...rest } = withoutSwitches(kept)
    obey({ ...rest, jobs: [] })
  }
  machineWriter.touch()
  nodeWriter.touch()
  log.info('agent started', { machine, node, version, bootId: facts.bootId })

  const onMachine = async (found: Machine | undefined): Promise<void> => {
    // A Machine that vanished tells us nothing: what runs goes on running until somebody takes the node away.
    if (found === undefined) return
    const order = orderOf(found)
    await writeDurably(files, machineFile(dir), JSON.stringify(order))
    if (machineUid !== undefined && machineUid !== order.uid) machineWriter.again()
    obey(order)
  }
  async function forgetOldReboot(): Promise<void> {
    const asked = await readState(files, rebootRequestFile(dir), (v) => (isObject(v) ? v : undefined))
    if (asked !== undefined && asked['bootId'] !== facts.bootId) await removeDurably(files, rebootRequestFile(dir))
  }
  const lease = { client, clock, random, log, everyMs: config.leaseMs }
  const forever = [
    watchNamed({ client, clock, random, log, type: machineType, name: machine, onObject: onMachine }, stop.signal),
    keepLease(lease, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(machine), holder: machine }, stop.signal),
    ...(config.registerNode
      ? [keepLease(lease, { namespace: NODE_LEASES, name: node, holder: node }, stop.signal)]
      : []),
    keepRenewing(
      {
        clock,
        random,
        log,
        onRenewed: (next) => {
          pair = next
        },
        renew: async () => {
          const key = await newKey()
          const certificate = await requestCertificate({ client, clock, signal: stop.signal }, { machine, node }, key)
          await writePair({ files, dir }, { key, certificate })
          return { key, certificate }
        },
      },
      pair,
      stop.signal,
    ).catch(() => undefined),
  ]
  await new Promise<void>((resolve) => {
    if (stop.signal.aborted) resolve()
    else stop.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  log.info('agent ends', { end })
  await jobs.close()
  machineWriter.close()
  nodeWriter.close()
  await components.close()
  await board.close()
  if (end === 'Reboot')
    await Promise.all(components.workers.map((w) => supervisor.stop(w.component).catch(() => undefined)))
  supervisor.close()
  client.close()
  await Promise.allSettled(forever)
  await lock.release()
  return end
}

function hasTaint(node: KubeObject, key: string): boolean {
  const spec = isObject(node['spec']) ? node['spec'] : {}
  const taints = Array.isArray(spec['taints']) ? spec['taints'] : []
  return taints.some((t) => isObject(t) && t['key'] === key)
}
