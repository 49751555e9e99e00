// The program of the agent on a whole machine under qemu, in a cluster with the real controllers and the real Defender: it joins, its kernel is upgraded under
// a permit, a kernel that panics is given up and its revision blocked, and the power is cut after each step. Only the provider is a double.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type ReleaseOptions, newPublisher, release } from '#test/doubles/node/release.ts'
import { MemoryProvider, type MemoryHost } from '#test/doubles/providers/memory-provider.ts'
import { HOST, forward } from '#test/e2e/arm-machine/initial-files.ts'
import { eventually } from '#test/integration/agent-bench.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { type Furnishing, enableUnit, makeDisk, noGuest } from './guest-disk.ts'
import { GuestMachine } from './guest-machine.ts'
import { HERE, PANICS } from './orders.ts'

const ROOT = join(import.meta.dirname, '../../..')
const POOL = { 'kubenode.io/pool': 'workers' }
/** Software emulation boots in a minute or two where it has a core for itself, and dpkg builds an initial file system as slowly. */
const STEP_MS = 40 * 60_000
const NETWORK = `[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\nGateway=${HOST}\n`
const FORWARD = `[Service]\nExecStart=${HERE}/node ${HERE}/forward.mjs\nRestart=always\n[Install]\nWantedBy=multi-user.target\n`
const why = noGuest()

describe.skipIf(why !== undefined)(
  `the agent and kernels on a machine under qemu${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const folder = mkdtempSync('/var/tmp/kn-agent-boot-')
    const publisher = newPublisher()
    const hosts = new Map<string, MemoryHost>()
    const provider = new MemoryProvider({ clock: systemClock, name: 'qemu', hosts })
    const boots = new Set<string>()
    let bench: RepairBench
    let guest: GuestMachine | undefined
    let first = ''
    let other = ''

    /** Its probe asks for the way to the API server, which a kernel could break. */
    const kernel = (version: string, options: Omit<ReleaseOptions, 'version'>, port: number) =>
      release(publisher, {
        component: 'kernel',
        version,
        ...options,
        spec: {
          type: 'OS',
          install: undefined,
          disruption: 'Reboot',
          probes: [{ name: 'way', tcp: { port }, interval: '1s', timeout: '10s', settle: '5s' }],
          ...options.spec,
        },
      })

    async function furnish({ root, release: own, other: newer }: Furnishing): Promise<void> {
      first = own
      other = newer.release
      const host = await eventually('a host', async () => [...hosts.values()][0], Boolean, STEP_MS)
      if (host === undefined) throw new Error('no host')
      const { join: asked } = host.request
      const port = Number(new URL(asked.server).port)
      const name = basename(newer.file)
      const packages = { entries: [{ name, content: readFileSync(newer.file) }] }
      const releases = [
        kernel('1.0.0', { spec: { artifacts: undefined, os: { kernel: own } } }, port),
        kernel('1.1.0', { ...packages, spec: { os: { kernel: other, packages: [name] } } }, port),
        kernel(
          '1.2.0',
          { ...packages, spec: { os: { kernel: other, packages: [name], bootArguments: PANICS } } },
          port,
        ),
      ]
      const put = (path: string, content: string | Buffer, mode = 0o600): void => {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), content, { mode })
      }
      for (const one of releases) {
        put(`artifacts/${one.url}`, one.artifact)
        await bench.admin.create(machineComponent, one.object)
      }
      put('artifacts/trust.json', JSON.stringify(publisher.trust()))
      const bundle = { ...asked, artifactBase: 'file:///artifacts', trust: publisher.anchor }
      put('var/lib/kubenode/join.json', JSON.stringify(bundle))
      put('var/lib/kubenode/agent.json', JSON.stringify({ metrics: false, lease: '10s' }))
      put(`${HERE}/forward.mjs`, forward(port))
      // The program that reads it has a user of its own.
      put('etc/systemd/network/guest.network', NETWORK, 0o644)
      enableUnit(root, 'forward.service', FORWARD)
      symlinkSync(
        '/lib/systemd/system/systemd-networkd.service',
        join(root, 'etc/systemd/system/multi-user.target.wants/systemd-networkd.service'),
      )
      const prefix = '/opt/kubenode'
      await bundleAgent({ root: ROOT, out: join(root, prefix), prefix, node: execPath })
      put('etc/systemd/system/kubenode-agent.service.d/console.conf', '[Service]\nStandardOutput=journal+console\n')
      enableUnit(root, 'kubenode-agent.service', readFileSync(join(root, prefix, 'kubenode-agent.service'), 'utf8'))
    }

    beforeAll(async () => {
      bench = await RepairBench.start()
      await bench.startDefender()
      await bench.startControllers([machineModule, componentSetModule], { providers: { qemu: provider } })
      await bench.admin.create(machineType, {
        apiVersion: API_GROUP_VERSION,
        kind: 'Machine',
        metadata: { name: 'guest', labels: POOL },
        spec: { channel: 'Agent', provider: { name: 'qemu' }, pool: 'workers' },
      })
      const disk = await makeDisk(folder, furnish)
      await bench.create(machineComponentSet, 'base', {
        selector: { matchLabels: POOL },
        components: [{ name: 'kernel', version: '1.0.0' }],
        rollout: { steps: [1], maxUnavailable: 1, soak: '0s' },
      })
      guest = new GuestMachine(folder, disk, 'user,model=virtio-net-pci')
      await guest.setUp()
      guest.start()
    }, STEP_MS)

    afterAll(async () => {
      await guest?.cutPower()
      await bench.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const found = async () => {
      const machine = await bench.admin.get(machineType, { name: 'guest' })
      const boot = machine?.status?.bootID
      if (boot !== undefined) boots.add(boot)
      return machine?.status
    }
    const declare = async (version: string): Promise<void> => {
      const value = { spec: { components: [{ name: 'kernel', version }] } }
      await bench.admin.patch(machineComponentSet, { name: 'base' }, { type: 'merge', value })
    }
    type Status = Awaited<ReturnType<typeof found>>
    async function shows(what: string, isIt: (status: Status) => boolean): Promise<Status> {
      try {
        return await eventually(what, found, isIt, STEP_MS)
      } catch (cause) {
        throw new Error(`${JSON.stringify(await found())}; ${guest?.console.slice(-3_000)}`, { cause })
      }
    }
    const runs =
      (version: string, state: string, release_: string) =>
      (status: Status): boolean => {
        const [component] = status?.components ?? []
        const isThat = component?.version === version && component.state === state
        return status?.phase === 'Ready' && isThat && status.platform?.kernel === release_
      }
    async function powerCut(): Promise<string | undefined> {
      const before = (await found())?.bootID
      await guest?.cutPower()
      guest?.start()
      return before
    }

    test(
      'joins, and keeps the kernel with which it came',
      async () => {
        const status = await shows('1.0.0', runs('1.0.0', 'Healthy', first))
        expect(status?.platform).toMatchObject({ arch: 'amd64', os: expect.stringContaining('Debian') })
      },
      STEP_MS,
    )

    test(
      'an upgrade under a permit boots the other kernel once, and a power cut after it boots it again',
      async () => {
        const before = boots.size
        await declare('1.1.0')
        await shows('1.1.0', runs('1.1.0', 'Healthy', other))
        expect(boots.size - before).toBe(1)
        const boot = await powerCut()
        await shows('1.1.0 after a power cut', (s) => s?.bootID !== boot && runs('1.1.0', 'Healthy', other)(s))
        expect(guest?.panics).toBe(0)
      },
      STEP_MS,
    )

    test(
      'a kernel that panics is followed by the one before without anybody, and its revision is blocked',
      async () => {
        await declare('1.2.0')
        const status = await shows('1.2.0 to be given up', runs('1.1.0', 'RolledBack', other))
        expect(guest?.panics).toBe(1)
        expect(status?.components?.[0]?.message).toMatch(/^KN8098: cannot keep kernel 1\.2\.0: the machine returned/)
        const set = async () => await bench.admin.get(machineComponentSet, { name: 'base' })
        const blocked = await eventually('the set to be blocked', set, (s) => s?.status?.phase === 'Blocked', STEP_MS)
        expect(blocked?.status?.revisions?.blocked).toMatchObject([{ component: 'kernel' }])
        const boot = await powerCut()
        await shows('1.1.0 after another power cut', (s) => s?.bootID !== boot && s?.phase === 'Ready')
        expect([(await found())?.platform?.kernel, guest?.panics]).toEqual([other, 1])
        expect(bench.forbidden()).toEqual([])
      },
      STEP_MS,
    )
  },
)
