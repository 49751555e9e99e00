// The life of nodes that kubeadm made, under KubeNode as it is installed on a real Kubernetes: imported, joined, previewed and adopted, kubelet and containerd
// changed by commits while a pod answers, a broken kubelet, a hung node, a frozen runtime, handed back, uninstalled.
// Needs root, systemd-nspawn, containerd, Debian's packages, and KUBEBUILDER_ASSETS; otherwise it says what is missing.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { sleep } from '#test/support/tools/processes.ts'
import { noMachines } from '../agent-host/machine.ts'
import { differences } from './host-tree.ts'
import { whyNoPackages } from './kubeadm-host.ts'
import type { Wanted } from './node-fleet.ts'
import { NodeWorld, POOL_LABEL, whyNoWeb, type NodeSeen, type Permit, type WebPod } from './node-world.ts'
import { Prober } from './prober.ts'

const CHAPTER_MS = 1_200_000
const UNITS = ['kubelet', 'containerd'] as const
const ROOT = join(import.meta.dirname, '../../..')

/** Hosts that are brought along get theirs from a file: docs/concepts/detection.md. */
const HOST_CONFIG = readFileSync(join(ROOT, 'fleet/machines/hosts.json'), 'utf8')

const why = whyNoCluster() ?? noMachines() ?? whyNoWeb() ?? whyNoPackages()

describe('nodes that kubeadm made', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  chapters()
  let world: NodeWorld
  let web: WebPod
  let prober: Prober | undefined
  let before: ReadonlyMap<string, ReadonlyMap<string, string>>
  let states: ReadonlyMap<string, readonly string[]>
  let nodes: ReadonlyMap<string, NodeSeen>

  const story = (name: string, chapter: () => Promise<void>): void => test(name, chapter, CHAPTER_MS)

  beforeAll(async () => {
    if (why === undefined) world = await NodeWorld.start()
  }, CHAPTER_MS)
  afterAll(async () => {
    prober?.kill()
    await (world as NodeWorld | undefined)?.stop()
  }, CHAPTER_MS)

  const each = <T>(of: (name: string) => T): ReadonlyMap<string, T> =>
    new Map(world.hosts.map(({ name }) => [name, of(name)]))
  const pids = (name: string): readonly string[] => UNITS.map((u) => world.host(name).pidOf(u))
  const wanted = (kubelet: string, containerd?: string): readonly Wanted[] => [
    { name: 'kubelet', version: kubelet },
    ...(containerd === undefined ? [] : [{ name: 'containerd', version: containerd }]),
  ]

  /** The pod of the user: the same one, and no container of it was restarted. */
  async function webIsUntouched(): Promise<void> {
    const now = await world.web()
    const of = (pod: WebPod | undefined) => [
      pod?.metadata.uid,
      pod?.status.containerStatuses?.map((c) => [c.restartCount, c.containerID]),
    ]
    expect(of(now)).toEqual(of(web))
  }

  /** Beside what the agent has below its own folder. */
  const changesOfRuntime = (name: string): readonly string[] =>
    differences(before.get(name) ?? new Map(), world.host(name).tree()).filter(
      (line) => line.includes('containerd') && !line.startsWith('/var/lib/kubenode/'),
    )

  /** Machines for which a permit to switch the component was asked. */
  const targetsOf = (permits: readonly Permit[], component: string): readonly string[] => [
    ...new Set(
      permits
        .filter((p) => p.metadata.name.includes(`-${component}-`))
        .flatMap((p) => p.spec.targets.map((t) => t.name)),
    ),
  ]

  const startProber = (): void => {
    prober = new Prober(world.installation.cluster.host.enter, world.webUrl(web))
  }

  async function alwaysAnswered(): Promise<void> {
    const seen = await prober?.end()
    prober = undefined
    expect(seen?.failures).toEqual([])
    expect(seen?.answered).toBe(seen?.asked)
    expect(seen?.asked).toBeGreaterThan(50)
  }

  story('are imported: Machines observe them, with their pool and zone, and nothing on the hosts changes', async () => {
    web = await world.startWeb()
    before = each((name) => world.host(name).tree())
    states = each((name) => world.host(name).unitStates())
    nodes = new Map(await Promise.all(world.hosts.map(async ({ name }) => [name, await world.node(name)] as const)))
    const started = each(pids)
    const values = await world.values()
    await world.installation.volume()
    await world.installation.kubenode('install', '--values', values, '--yes', '--timeout', '8m')
    const said = await world.installation.kubenode('import', '-l', POOL_LABEL)
    expect(said).toMatch(/worker-1: machine\/worker-1 observes it\nworker-2: machine\/worker-2 observes it\n/)
    for (const { name } of world.hosts) {
      expect((await world.machine(name)).spec).toMatchObject({
        channel: 'Observe',
        adoption: 'Preview',
        pool: 'hosts',
        zone: 'a',
      })
      expect(differences(before.get(name) ?? new Map(), world.host(name).tree())).toEqual([])
    }
    expect(each(pids)).toEqual(started)
  })

  story('join with the printed line; kubelet and containerd keep running', async () => {
    const started = each(pids)
    for (const { name, machine } of world.hosts) {
      await world.kubectl.ok(`patch machines.kubenode.io ${name} --type merge -p`, ['{"spec":{"channel":"Agent"}}'])
      const line = await world.settled(`the line of ${name}`, async () => {
        const { code, out } = await world.installation.run(ROOT, 'machine', 'join-command', name)
        return code === 0 ? out : undefined
      })
      writeFileSync(join(machine.root, 'root/line'), line)
      const { code, out } = await machine.runAside('sh', '/root/line')
      expect([code, out], world.host(name).log('kubenode-agent')).toEqual([
        0,
        expect.stringContaining(`${name} has joined`),
      ])
      machine.run('rm', '/root/line')
      await world.settled(`the agent of ${name}`, async () => (await world.machine(name)).status?.agent)
    }
    expect(each(pids)).toEqual(started)
    expect(await Promise.all(world.hosts.map((h) => world.isReady(h.name)))).toEqual([true, true])
    await webIsUntouched()
  })

  story(
    'are previewed: it shows what stays, what is replaced and what restarts, and without consent nothing is switched',
    async () => {
      const { kubelet, containerd } = world.versions
      const started = each(pids)
      await world.followGit(wanted(kubelet[0], containerd[2]))
      const preview = await world.settled('the preview', async () => {
        const { text } = await world.installation.run(ROOT, 'adopt', 'worker-1', '--dry-run')
        return /kubelet: is not restarted/.test(text) && /containerd: restarts/.test(text) ? text : undefined
      })
      expect(preview).toMatch(/kubelet +\/usr\/bin\/kubelet +equal +original kept, content unchanged/)
      expect(preview).toMatch(/kubelet +\/usr\/lib\/systemd\/system\/kubelet.service +unit +stays in force/)
      expect(preview).toMatch(
        /kubelet +\/usr\/lib\/systemd\/system\/kubelet.service.d\/10-kubeadm.conf +drop-in +stays in force/,
      )
      expect(preview).toMatch(/containerd +\/etc\/containerd\/config.toml +.* +original kept, then replaced/)
      await sleep(3_000)
      expect(each(pids)).toEqual(started)
    },
  )

  story(
    'F44 are adopted: a runtime that does not start goes back to what kubeadm had on the first node, and the next commit adopts both',
    async () => {
      const { kubelet, containerd } = world.versions
      const started = each(pids)
      startProber()
      for (const { name } of world.hosts) await world.installation.kubenode('adopt', name)
      await world.blocked('containerd')
      const [tried, ...others] = targetsOf(await world.permits(), 'containerd')
      expect([tried, others]).toEqual([expect.stringMatching(/^worker-/), []])
      const first = world.host(tried ?? '')
      expect(changesOfRuntime(first.name)).toEqual([])
      expect(first.systemctl('is-active', 'containerd')).toBe('active')
      world.commit(wanted(kubelet[0], containerd[0]), 'containerd: a configuration that it can read')
      await world.running('kubelet', kubelet[0])
      await world.running('containerd', containerd[0])
      // The same program with the unit of kubeadm: it was never restarted.
      for (const [name, [own, runtime]] of started) {
        expect([name, pids(name)[0]]).toEqual([name, own])
        expect([name, pids(name)[1]]).not.toEqual([name, runtime])
      }
      await alwaysAnswered()
      await webIsUntouched()
    },
  )

  story('their kubelet is rolled by a commit while a pod answers every 100 ms', async () => {
    const { kubelet, containerd } = world.versions
    const started = each(pids)
    startProber()
    world.commit(wanted(kubelet[1], containerd[0]), 'kubelet: second')
    await world.running('kubelet', kubelet[1])
    for (const [name, [own, runtime]] of started) {
      expect([name, pids(name)[0]]).not.toEqual([name, own])
      expect([name, pids(name)[1]]).toEqual([name, runtime])
      expect(await world.isReady(name)).toBe(true)
    }
    await alwaysAnswered()
    await webIsUntouched()
  })

  story('a kubelet that exits at once goes back on the first node, and the second one never gets it', async () => {
    const { kubelet, containerd } = world.versions
    startProber()
    const permits = new Set((await world.permits()).map((p) => p.metadata.name))
    world.commit(wanted(kubelet[2], containerd[0]), 'kubelet: broken')
    await world.blocked('kubelet')
    await world.running('kubelet', kubelet[1])
    const made = (await world.permits()).filter((p) => !permits.has(p.metadata.name))
    expect(made.filter((p) => p.spec.disruption !== 'None').flatMap((p) => p.spec.targets).length).toBeLessThan(2)
    expect(await world.installation.kubenode('why', 'set/nodes')).toMatch(/kubelet/)
    world.commit(wanted(kubelet[1], containerd[0]), 'Revert "kubelet: broken"')
    await alwaysAnswered()
    await webIsUntouched()
  })

  story('containerd is switched, and no container is restarted', async () => {
    const { kubelet, containerd } = world.versions
    const started = each(pids)
    startProber()
    world.commit(wanted(kubelet[1], containerd[1]), 'containerd: next')
    await world.running('containerd', containerd[1])
    for (const [name, [own, runtime]] of started) {
      expect([name, pids(name)[0]]).toEqual([name, own])
      expect([name, pids(name)[1]]).not.toEqual([name, runtime])
    }
    await alwaysAnswered()
    await webIsUntouched()
  })

  story(
    'a node whose kernel reports a hanging task is drained, its pod moves to the other node, and it is rebooted',
    async () => {
      const home = web.spec.nodeName
      for (const { machine } of world.hosts)
        writeFileSync(join(machine.root, 'var/lib/kubenode/agent.json'), HOST_CONFIG)
      await world.settled('a kernel that is watched', async () => {
        const watched = await Promise.all(world.hosts.map(({ name }) => world.condition(name, 'KernelDeadlock')))
        return watched.every((c) => c === 'False') ? true : undefined
      })
      const boot = (await world.machine(home)).status?.bootID
      world.host(home).kernelSays('INFO: task kubelet:815 blocked for more than 122 seconds.')
      const moved = await world.settled('the pod on the other node', async () => {
        const now = await world.web()
        return now !== undefined && now.spec.nodeName !== home ? now : undefined
      })
      const job = await world.settled('the repair', async () =>
        (await world.jobs()).find((j) => j.status?.phase === 'Done'),
      )
      expect([job.spec.machine, job.status?.outcome]).toEqual([home, 'Succeeded'])
      expect(job.status?.steps?.map((s) => `${s.operation} ${s.outcome}`)).toEqual([
        'collectEvidence Succeeded',
        'cordon Succeeded',
        'drain Succeeded',
        'reboot Succeeded',
      ])
      expect((await world.machine(home)).status?.bootID).not.toBe(boot)
      await world.settled('an open node', async () => {
        const { out } = await world.kubectl.run(`get node ${home} -o jsonpath={.spec.taints}`)
        return !out.includes('kubenode.io/') && (await world.isReady(home)) ? true : undefined
      })
      expect(await world.condition(home, 'KernelDeadlock')).toBe('False')
      web = moved
      await webIsUntouched()
    },
  )

  story(
    'containerd leaves the set: its originals are put back under a permit, its restart ends no container',
    async () => {
      const { kubelet, containerd } = world.versions
      world.commit(wanted(kubelet[1], containerd[0]), 'Revert "containerd: next"')
      await world.running('containerd', containerd[0])
      const started = each(pids)
      const permits = new Set((await world.permits()).map((p) => p.metadata.name))
      startProber()
      world.commit(wanted(kubelet[1]), 'containerd is not ours to manage')
      for (const { name } of world.hosts)
        await world.settled(`the end of containerd on ${name}`, async () =>
          (await world.component(name, 'containerd')) === undefined ? true : undefined,
        )
      const made = (await world.permits()).filter((p) => !permits.has(p.metadata.name))
      expect(new Set(made.flatMap((p) => p.spec.targets.map((t) => t.name)))).toEqual(
        new Set(world.hosts.map((h) => h.name)),
      )
      // One after the other: half of two may be unavailable.
      expect(made.map((p) => p.spec.targets.length)).toEqual([1, 1])
      for (const [name, [own, runtime]] of started) {
        expect([name, pids(name)[0]]).toEqual([name, own])
        expect([name, pids(name)[1]]).not.toEqual([name, runtime])
        expect(changesOfRuntime(name)).toEqual([])
      }
      await alwaysAnswered()
      await webIsUntouched()
    },
  )

  story('a runtime that is frozen while it is no component is found and repaired', async () => {
    const home = web.spec.nodeName
    const host = world.host(home)
    const [kubelet, runtime = ''] = pids(home)
    const done = new Set((await world.jobs()).map((j) => j.metadata.name))
    startProber()
    host.machine.run('kill', '-STOP', runtime)
    await world.settled('the condition', async () =>
      (await world.condition(home, 'ContainerRuntimeUnhealthy')) === 'True' ? true : undefined,
    )
    const job = await world.settled('the repair', async () =>
      (await world.jobs()).find((j) => !done.has(j.metadata.name) && j.status?.phase === 'Done'),
    )
    expect([job.spec.machine, job.status?.outcome, job.status?.steps?.map((s) => s.operation)]).toEqual([
      home,
      'Succeeded',
      ['collectEvidence', 'restartComponent'],
    ])
    expect(await world.condition(home, 'ContainerRuntimeUnhealthy')).toBe('False')
    expect(pids(home)[0]).toBe(kubelet)
    expect(pids(home)[1]).not.toBe(runtime)
    await alwaysAnswered()
    await webIsUntouched()
  })

  story('F47 a node is handed back byte for byte as it was, and its kubelet is never stopped', async () => {
    const { kubelet } = world.versions
    world.commit(wanted(kubelet[0]), 'Revert "kubelet: second"')
    await world.running('kubelet', kubelet[0])
    const name = web.spec.nodeName
    const started = pids(name)
    startProber()
    await world.kubectl.ok(`delete machines.kubenode.io ${name} --wait=false`)
    await world.settled(`the end of machine ${name}`, async () =>
      (await world.kubectl.run(`get machines.kubenode.io ${name}`)).code === 0 ? undefined : true,
    )
    await isAsBefore(name)
    expect(pids(name)).toEqual(started)
    await alwaysAnswered()
    await webIsUntouched()
  })

  /** Nothing of KubeNode is on the host or its Node, and nothing that was there changed. */
  async function isAsBefore(name: string): Promise<void> {
    const host = world.host(name)
    await world.settled(`${name} without its agent`, async () =>
      host.machine.run('test', '-e', '/var/lib/kubenode').code === 0 ||
      host.machine.run('test', '-e', '/opt/kubenode').code === 0
        ? undefined
        : true,
    )
    expect(differences(before.get(name) ?? new Map(), host.tree())).toEqual([])
    expect(host.unitStates()).toEqual(states.get(name))
    await world.settled(`${name} Ready`, async () => ((await world.isReady(name)) ? true : undefined))
    expect(await world.node(name)).toEqual(nodes.get(name))
  }

  story(
    'F47 the installation is taken off: the other node is handed back the same way, and nothing of KubeNode is left',
    async () => {
      const name = world.hosts.find((h) => h.name !== web.spec.nodeName)?.name ?? ''
      const started = pids(name)
      startProber()
      await world.installation.kubenode('uninstall', '--yes', 'hub', '--delete-crds')
      await isAsBefore(name)
      expect(pids(name)).toEqual(started)
      expect(await world.installation.ours()).toEqual([])
      await alwaysAnswered()
      await webIsUntouched()
    },
  )
})
