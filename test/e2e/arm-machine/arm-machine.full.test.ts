// A whole machine for ARM under qemu: Debian's kernel boots, and the program of the agent joins a cluster, installs a component and upgrades it, with nothing
// between it and that kernel. The API server, the controllers and the Defender are real; the machine has its files in memory.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { systemClock } from '#lib/system-clock.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { MemoryProvider, type MemoryHost } from '#test/doubles/providers/memory-provider.ts'
import { eventually } from '#test/integration/agent-bench.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { type ArmMachine, NODE_FOLDER, armMachine, initialFiles, noArmMachine } from './initial-files.ts'

const ROOT = join(import.meta.dirname, '../../..')
const POOL = { 'kubenode.io/pool': 'workers' }
/** Software emulation boots in a minute or two where it has a core for itself, and Node.js starts as slowly. */
const PATIENCE_MS = 20 * 60_000
const why = noArmMachine()

describe.skipIf(why !== undefined)(
  `the agent on a machine for ARM under qemu${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const folder = mkdtempSync('/var/tmp/kn-arm-machine-')
    const publisher = newPublisher()
    const hosts = new Map<string, MemoryHost>()
    const provider = new MemoryProvider({ clock: systemClock, name: 'arm', hosts })
    const stop = new AbortController()
    let bench: RepairBench
    let machine: ArmMachine
    let guest: ChildProcess | undefined

    const beacon = (version: string) =>
      release(publisher, {
        version,
        entries: [
          {
            name: 'bin/beacon',
            mode: 0o755,
            content: `#!/usr/bin/env node\nrequire('node:http').createServer((q, r) => r.end('${version}')).listen(18080, process.env.KUBENODE_ADDRESS)\n`,
          },
        ],
        spec: {
          service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
          probes: [
            {
              name: 'http',
              http: { port: 18080, path: '/', tls: false },
              interval: '2s',
              timeout: '10s',
              settle: '5s',
            },
          ],
        },
      })

    function boot(files: Readonly<Record<string, string | Buffer>>, server: string): void {
      const packed = join(folder, 'initial')
      initialFiles(machine, { files, port: Number(new URL(server).port) }, packed)
      const now = Math.floor(Date.now() / 1_000)
      guest = spawn(
        'qemu-system-aarch64',
        [
          '-accel tcg -machine virt -cpu max,pauth-impdef=on -m 1536 -smp 2 -display none -no-reboot'.split(' '),
          ['-kernel', machine.kernel, '-initrd', packed, '-append', `console=ttyAMA0 panic=-1 now=${now}`],
          ['-nic', 'user,model=virtio-net-pci', '-serial', `file:${join(folder, 'console')}`],
        ].flat(),
        { stdio: 'inherit' },
      )
    }

    beforeAll(async () => {
      machine = await armMachine(folder)
      await bundleAgent({ root: ROOT, out: join(folder, 'agent'), prefix: '/opt/kubenode' })
      bench = await RepairBench.start()
      const artifacts: Record<string, string | Buffer> = { '/artifacts/trust.json': JSON.stringify(publisher.trust()) }
      for (const version of ['1.0.0', '1.1.0']) {
        const one = beacon(version)
        artifacts[`/artifacts/${one.url}`] = one.artifact
        await bench.admin.create(machineComponent, one.object)
      }
      void provider.events(({ kind }) => {
        const request = [...hosts.values()][0]?.request
        if (kind !== 'Started' || request === undefined || guest !== undefined) return
        const bundle = { ...request.join, artifactBase: 'file:///artifacts', trust: publisher.anchor }
        boot(
          {
            ...artifacts,
            '/agent.mjs': readFileSync(join(folder, 'agent/agent.mjs')),
            [`${NODE_FOLDER}/join.json`]: JSON.stringify(bundle),
            [`${NODE_FOLDER}/agent.json`]: JSON.stringify({ metrics: false, lease: '10s' }),
          },
          request.join.server,
        )
      }, stop.signal)
      await bench.startDefender()
      await bench.startControllers([machineModule, componentSetModule], { providers: { arm: provider } })
      await bench.create(machineComponentSet, 'base', {
        selector: { matchLabels: POOL },
        components: [{ name: 'beacon', version: '1.0.0' }],
        rollout: { steps: [1], maxUnavailable: 1, soak: '0s' },
      })
      await bench.admin.create(machineType, {
        apiVersion: API_GROUP_VERSION,
        kind: 'Machine',
        metadata: { name: 'arm', labels: POOL },
        spec: { channel: 'Agent', provider: { name: 'arm' }, pool: 'workers' },
      })
    }, PATIENCE_MS)

    afterAll(async () => {
      stop.abort()
      if (guest !== undefined && guest.exitCode === null) {
        guest.kill('SIGKILL')
        await once(guest, 'exit')
      }
      await bench.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const status = async () => (await bench.admin.get(machineType, { name: 'arm' }))?.status
    async function reaches(version: string): Promise<void> {
      try {
        await eventually(
          `${version} on the machine`,
          status,
          (s) => s?.phase === 'Ready' && s.components?.[0]?.state === 'Healthy' && s.components[0].version === version,
          PATIENCE_MS,
        )
      } catch (e) {
        const console = join(folder, 'console')
        throw new Error(existsSync(console) ? readFileSync(console, 'utf8').slice(-4_000) : 'no console', { cause: e })
      }
    }

    test(
      'joins, installs, and reports its processor and the kernel of Debian',
      async () => {
        await reaches('1.0.0')
        expect((await status())?.platform).toMatchObject({ arch: 'arm64', kernel: machine.release })
      },
      PATIENCE_MS,
    )

    test(
      'is upgraded under a permit',
      async () => {
        const value = { spec: { components: [{ name: 'beacon', version: '1.1.0' }] } }
        await bench.admin.patch(machineComponentSet, { name: 'base' }, { type: 'merge', value })
        await reaches('1.1.0')
        expect(bench.forbidden()).toEqual([])
      },
      PATIENCE_MS,
    )
  },
)
