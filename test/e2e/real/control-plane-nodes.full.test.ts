// A control plane of flavor kubernetes with real nodes: kubelets of the older minor that joined with a token, and agents that joined with the printed line. The
// version is raised, and then each authority and key is replaced alone, while get, exec and logs are asked for all the time and nodes join in the middle.
// Needs root, systemd-nspawn, Debian's packages, busybox, kubectl and KUBEBUILDER_ASSETS; otherwise it says what is missing.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { trustOf } from '#controllers/cluster/plan-rotation.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { readingsOf } from '#controlplanes/kubernetes/readings.ts'
import { sealAgainWith, type SealAgain } from '#controlplanes/kubernetes/reseal.ts'
import type { AgentTrust, Rotation } from '#controlplanes/credentials/rotation.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { systemClock } from '#lib/system-clock.ts'
import { listAll } from '#kube/list-all.ts'
import { pauseLayout, programLayout } from '#test/support/servers/real/pause-image.ts'
import { programFile, whyNoPrograms } from '#test/support/servers/real/programs.ts'
import type { RunningServer } from '#test/support/servers/running-server.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until as untilSeen } from '#test/support/tools/processes.ts'
import { kubernetesHostWorld, REAL_SHAPE, whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'
import { noMachines } from '../agent-host/machine.ts'
import { JoinWorld } from './join-world.ts'
import { whyNoPackages } from './kubeadm-host.ts'
import { doorObjects } from './kubelet-door.ts'
import { whyNoWeb } from './node-world.ts'
import { ownAddress, PlaneNode, whyNoAddress } from './plane-node.ts'

const CHAPTER_MS = 3_600_000
const STEP_MS = 900_000
const NODE_MS = 300_000
const DAY_MS = 86_400_000
/** Longer than hosts may take to join. */
const JOIN_MS = 16 * 60_000
const ID = 'fleet.nodes'
const PODS = coreKind('Pod')
const BUSYBOX = '/bin/busybox'
const IMAGE = 'kubenode.test/talker:1'
const WRITTEN = 'written'
const TOKEN = 'abcdef.0123456789abcdef'
const why = whyNoHost() ?? whyNoPrograms(['kubelet']) ?? noMachines() ?? whyNoWeb() ?? whyNoPackages() ?? whyNoAddress()
const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)

/** Certificates that the host makes for itself would have expired by the clock of the programs. */
const longer =
  (kubeconfig: Parameters<SealAgain>[0]['kubeconfig']): typeof kubeconfig =>
  (identity) =>
    kubeconfig({ ...identity, lifeMs: DAY_MS })

const folder = mkdtempSync('/var/tmp/kn-plane-nodes-')
let world: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
const ending: (() => unknown)[] = []
beforeAll(async () => {
  if (why === undefined) world = await kubernetesHostWorld()
})
afterAll(async () => {
  for (const end of ending.toReversed()) await end()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
}, CHAPTER_MS)

/** The kubelet is of the older minor where there is one: it may be that much older than its API server. */
const kubeletFile = (): string => {
  const before = join(process.env['KUBEBUILDER_ASSETS_BEFORE'] ?? '', 'kubelet')
  return process.env['KUBEBUILDER_ASSETS_BEFORE'] !== undefined && existsSync(before) ? before : programFile('kubelet')
}

test(
  'get, exec, logs and join work through an upgrade and the rotation of each authority and key',
  async (context) => {
    if (why !== undefined) context.skip(`nodes of a Kubernetes control plane: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { runner, client: hub } = world
    const note = (text: string): void => {
      if (process.env['KUBENODE_NODES_STORY'] !== undefined)
        process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
    }
    // Certificates must not be of the future of the programs, whose clock stays: it begins behind.
    let ahead = -4 * JOIN_MS
    const host = world.host({
      readings: (of) => readingsOf({ hub, connect })({ ...of, kubeconfig: longer(of.kubeconfig) }),
      sealAgain: (of) => sealAgainWith({ connect })({ ...of, kubeconfig: longer(of.kubeconfig) }),
      clock: { ...systemClock, now: () => Date.now() + ahead },
    })
    const declared: Record<string, number> = {}
    let version = '1.35.9'
    let agents: (() => Promise<readonly AgentTrust[]>) | undefined
    const request = async (): Promise<ControlPlaneRequest> => ({
      id: ID,
      owner: 'uid-nodes',
      version,
      shape: { ...REAL_SHAPE, replicas: 2, etcd: { members: 3, storage: '1Gi' } },
      upgrade: { soakMs: 5_000, walksMinors: false },
      rotation: { declared: { ...declared }, agents: (await agents?.()) ?? [] },
    })
    const until = async (what: string, holds: (plane: ControlPlane) => boolean | Promise<boolean>): Promise<void> => {
      for (const end = Date.now() + STEP_MS; ;) {
        const result = await host.put(await request())
        if (result.kind === 'Refused') throw new Error(`${result.message}\n${runner.tail()}`)
        if (runner.problem !== undefined) throw new Error(`${String(runner.problem)}\n${runner.tail()}`)
        if (await holds(result.plane)) return
        if (Date.now() > end)
          throw new Error(`${what} never: ${JSON.stringify({ ...result.plane, ca: '' })}\n${runner.tail()}`)
        await systemClock.sleep(500)
      }
    }
    const isCalm = ({ state, message, change, own }: ControlPlane): boolean =>
      state === 'Running' && message === undefined && change === undefined && own !== undefined
    const runs = (plane: ControlPlane): boolean => isCalm(plane) && plane.version === version
    let made = 0
    const server = async (): Promise<RunningServer> => {
      const text = (await host.kubeconfig(ID, { user: 'test', groups: ['system:masters'], lifeMs: DAY_MS })) ?? ''
      const { config } = parseSafeKubeconfig(text, ID)
      const kubeconfig = join(folder, `kubeconfig-${++made}`)
      writeFileSync(kubeconfig, text, { mode: 0o600 })
      const pem = (source: unknown): string => (source as { readonly data: string }).data
      return {
        url: config.server,
        ca: pem(config.ca),
        cert: pem(config.clientCertificate?.cert),
        key: pem(config.clientCertificate?.key),
        kubeconfig,
        stop: async () => undefined,
      }
    }

    const allocatable = { cpu: '64', memory: '256Gi', pods: '500' }
    const room = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'hub-1' }, status: { allocatable } }
    await hub.create(coreKind('Node'), room)
    ending.push(() => host.delete(ID, { owner: 'uid-nodes' }).catch(() => undefined))
    await until('the control plane', runs)
    note('the control plane runs')
    const first = await server()
    await new Kubectl(first).apply(doorObjects(TOKEN))
    const joins = new JoinWorld(first)
    ending.push(() => joins.stop())
    await joins.start()
    note('KubeNode is installed')

    const hook = await startHook()
    ending.push(() => hook.stop())
    await new Kubectl(first).apply(hook.objects)
    const talker = await programLayout(folder, {
      name: IMAGE,
      program: BUSYBOX,
      args: ['sh', '-c', 'while true; do echo tick; /bin/busybox sleep 1; done'],
    })
    const images = [await pauseLayout(folder), talker]
    const nodes: PlaneNode[] = []
    const asker = new Asker(new Kubectl(first))
    /** A kubelet with a token, then an agent with the printed line, and a pod that is asked from then on. */
    const addNode = async (name: string): Promise<void> => {
      const node = new PlaneNode(name, nodes.length, folder)
      nodes.push(node)
      ending.push(() => node.remove())
      await node.boot(kubeletFile(), images)
      const { url, ca, kubeconfig } = await server()
      const kubectl = new Kubectl({ ...first, kubeconfig })
      node.join({ url, authorities: ca, token: TOKEN })
      await ready(kubectl, node)
      await joins.declare(name)
      const { code, out } = await node.machine.runAside('sh', '-c', await joins.joinCommand(name))
      expect([code, out], node.log('kubenode-agent')).toEqual([0, expect.stringContaining(`${name} has joined`)])
      await joins.until(`${name} has an agent`, async () => (await joins.machine(name))?.status?.agent !== undefined)
      await joins.admin.create(PODS, podOn(name))
      await untilSeen(
        `a pod on ${name}`,
        async () => ((await kubectl.ok(`get pod talker-${name}`)).includes('Running') ? true : undefined),
        NODE_MS,
      )
      asker.pods.push(`talker-${name}`)
      note(`${name} has joined`)
    }
    const ready = (kubectl: Kubectl, node: PlaneNode) =>
      untilSeen(
        `node ${node.name}`,
        async () => (/ Ready /.test(await kubectl.ok(`get node ${node.name}`)) ? true : undefined),
        NODE_MS,
      ).catch((e: unknown) => {
        throw new Error(node.log('kubelet'), { cause: e })
      })

    /** A kubelet that restarts answers nothing for its second; the others are asked. */
    const restarted = async (kubectl: Kubectl, node: PlaneNode, restart: () => void): Promise<void> => {
      const pod = `talker-${node.name}`
      await asker.without(pod, async () => {
        restart()
        await untilSeen(
          `the kubelet of ${node.name} answers`,
          async () => ((await kubectl.run(`exec ${pod} -- ${BUSYBOX} true`)).code === 0 ? true : undefined),
          NODE_MS,
        ).catch((e: unknown) => {
          throw new Error(node.log('kubelet'), { cause: e })
        })
      })
      await ready(kubectl, node)
    }

    await addNode('worker-1')
    agents = async () => (await listAll(joins.admin, machineType)).flatMap(trustOf)
    const asking = asker.run()
    await untilSeen('a webhook that is called', () => (hook.calls() > 0 ? true : undefined), NODE_MS)
    try {
      version = '1.36.2'
      await until(version, runs)
      asker.mustHaveWorked('during the upgrade')
      note('upgraded')

      for (const name of ['service-account', 'etcd-ca', 'front-proxy-ca', 'encryption']) {
        declared[name] = 2
        const isOver = ({ rotations }: { readonly rotations: readonly Rotation[] }): boolean =>
          rotations.every((r) => r.name === 'service-account' && r.phase === 'Reissuing' && r.waitsFor === undefined)
        await until(`rotation of ${name}`, async (plane) => {
          const snapshot = plane.own?.rotations.find(({ waitsFor }) => waitsFor?.what === 'snapshots')
          if (snapshot !== undefined) await host.drop(ID, snapshot.waitsFor?.missing ?? [])
          return isCalm(plane) && plane.own?.declared[name] === 2 && isOver(plane.own)
        })
        asker.mustHaveWorked(`while ${name} was replaced`)
        note(`${name} replaced`)
      }

      // The authority of the cluster: agents follow by themselves, kubelets by hand, as the runbook has it.
      declared['ca'] = 2
      const phaseOf = ({ own }: ControlPlane) => own?.rotations.find(({ name }) => name === 'ca')
      await until('the second authority', (plane) => phaseOf(plane)?.waitsFor?.what === 'agents')
      note('the second authority is trusted by the programs')
      const second = await server()
      await joins.use(second)
      asker.use(new Kubectl(second))
      await addNode('worker-2')
      const [one, two] = nodes as [PlaneNode, PlaneNode]
      await restarted(new Kubectl(second), one, () => one.trust({ url: second.url, authorities: second.ca }))
      for (const node of nodes) node.restartAgent()
      const goesOn = (phase: Rotation['phase'] | undefined) => async (plane: ControlPlane) => {
        const seen = phaseOf(plane)
        if (seen?.phase === phase) return seen !== undefined || isCalm(plane)
        if (seen !== undefined && seen.waitsFor === undefined) ahead += JOIN_MS
        return false
      }
      await until('the second authority signs', goesOn('Reissuing'))
      note('the second authority signs')
      await until('programs with it', (plane) => phaseOf(plane)?.waitsFor?.what === 'agents')
      asker.mustHaveWorked('while the new authority was distributed')
      const third = await server()
      await joins.use(third)
      asker.use(new Kubectl(third))
      await addNode('worker-3')
      for (const node of [one, two]) {
        await restarted(new Kubectl(third), node, () =>
          node.join({ url: third.url, authorities: third.ca, token: TOKEN }),
        )
        node.restartAgent()
      }
      await until('the first authority is removed', goesOn(undefined))
      note('the first authority is removed')
      const last = await server()
      expect(last.ca).not.toBe(third.ca)
      asker.use(new Kubectl(last))
      const before = asker.asked
      await untilSeen('calls of now', () => (asker.asked > before + 20 ? true : undefined), NODE_MS)
      for (const node of nodes) await ready(new Kubectl(last), node)
      asker.mustHaveWorked('while the new authority signed')
    } finally {
      asker.stop()
      await asking
    }
    expect(hook.calls()).toBeGreaterThanOrEqual(asker.written)
    process.stderr.write(
      `nodes of a control plane: ${asker.asked} calls of get, exec, logs and of a write that a webhook sees, ${asker.retried} retried once, none failed twice\n`,
    )
    expect(runner.running(planeNamespace(ID)).length).toBeGreaterThan(0)
  },
  CHAPTER_MS,
)

/** A webhook of the cluster behind a Service: only its endpoints lead anywhere from where the API servers run. */
async function startHook() {
  const authority = await newAuthority('hook')
  const server = createServer(await authority.server(['hook.default.svc']), (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { readonly request: { readonly uid: string } }
      calls += 1
      const answer = { uid: review.request.uid, allowed: true }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }))
    })
  })
  let calls = 0
  const address = ownAddress()
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  const metadata = { name: 'hook', namespace: 'default' }
  const ports = [{ name: 'https', port: 443 }]
  const rule = { operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }
  return {
    calls: () => calls,
    stop: () => server.close(),
    objects: [
      { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'hook-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'hook' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports: [{ name: 'https', port, protocol: 'TCP' }],
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: WRITTEN, namespace: 'default', labels: { hook: 'yes' } },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'hook.kubenode.test' },
        webhooks: [
          {
            name: 'hook.kubenode.test',
            rules: [rule],
            objectSelector: { matchLabels: { hook: 'yes' } },
            clientConfig: { service: metadata, caBundle: Buffer.from(authority.cert).toString('base64') },
            sideEffects: 'None',
            failurePolicy: 'Fail',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
    ],
  }
}

const podOn = (node: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `talker-${node}`, namespace: 'default' },
  spec: {
    nodeName: node,
    hostNetwork: true,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: 'talker', image: IMAGE, imagePullPolicy: 'Never' }],
  },
})

/** Each call is tried twice at most, the second time after a moment, as people do. */
class Asker {
  readonly pods: string[] = []
  asked = 0
  retried = 0
  written = 0
  readonly #failed: string[] = []
  #kubectl: Kubectl
  #isOver = false
  #turn: Promise<void> = Promise.resolve()

  constructor(kubectl: Kubectl) {
    this.#kubectl = kubectl
  }

  use(kubectl: Kubectl): void {
    this.#kubectl = kubectl
  }

  async without(pod: string, work: () => Promise<void>): Promise<void> {
    this.pods.splice(this.pods.indexOf(pod), 1)
    // What is asked just now is answered first.
    await this.#turn
    await work()
    this.pods.push(pod)
  }

  mustHaveWorked(when: string): void {
    expect(this.#failed, when).toEqual([])
  }

  stop(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      for (const pod of this.pods) {
        this.#turn = this.#askAll(pod)
        await this.#turn
      }
      await systemClock.sleep(300)
    }
  }

  async #askAll(pod: string): Promise<void> {
    await this.#ask(`get pod ${pod}`, /Running/)
    await this.#ask(`exec ${pod} -- ${BUSYBOX} echo answer`, /^answer\n$/)
    await this.#ask(`logs ${pod} --tail=2`, /tick/)
    await this.#ask(`annotate configmap ${WRITTEN} asked=${this.asked} --overwrite`, /annotated/)
    this.written += 1
  }

  async #ask(words: string, expected: RegExp): Promise<void> {
    this.asked += 1
    const once = async (): Promise<string | undefined> => {
      const { code, out, err } = await this.#kubectl.run(`--request-timeout=30s ${words}`)
      return code === 0 && expected.test(out)
        ? undefined
        : `${new Date().toISOString().slice(11, 19)} ${words}: ${code} ${err}${out}`
    }
    const problem = await once()
    if (problem === undefined) return
    this.retried += 1
    await systemClock.sleep(1_000)
    const again = await once()
    if (again !== undefined) this.#failed.push(`${problem}; ${again}`)
  }
}
